import type { RefusalCode } from './codes.ts';

/** The result if an input was refused. `detail` is one sentence for the log; clients get the sentence of the code (V3). */
export interface Refused {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly detail: string;
  /** The thrown value if `code` is `verifier_failed`. */
  readonly cause?: unknown;
}

/** Maximum length of a detail, in characters: it may quote an untrusted token, which may be long. */
const MAX_DETAIL = 500;

/** Thrown inside the library if an input is refused. Most exported functions catch it, and return a `Refused` or undefined instead. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;

  constructor(code: RefusalCode, detail: string) {
    super(detail.length > MAX_DETAIL ? `${detail.slice(0, MAX_DETAIL)}…` : detail);
    this.code = code;
  }
}

/** Refuses an input. @throws Refusal always */
export function refuse(code: RefusalCode, detail: string): never {
  throw new Refusal(code, detail);
}

/** Runs `read`, and replaces the code of DER faults by `code`, because a fault inside a certificate is not a fault of the token around it. */
export function refusingAs<T>(code: RefusalCode, what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal && error.code.startsWith('der_')) throw new Refusal(code, `${what}: ${error.message}`);
    throw error;
  }
}

/** Makes the result for an error. If the error is not a Refusal, our code has a defect: the input is refused too, and the error is kept for the log. */
export function refusedBy(error: unknown): Refused {
  if (error instanceof Refusal) return { ok: false, code: error.code, detail: error.message };
  return { ok: false, code: 'verifier_failed', detail: 'The verifier failed on this input.', cause: error };
}
