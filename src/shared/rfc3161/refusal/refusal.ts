import type { RefusalCode } from './codes.ts';

/** Why something was refused. `detail` is one sentence for the log; clients get the sentence of the code (V3). */
export interface Refused {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly detail: string;
  /** The thrown value if `code` is `verifier_failed`. */
  readonly cause?: unknown;
}

/** A detail may quote an untrusted token, which may be long. */
const MAX_DETAIL = 500;

/** A refusal inside the library. It is caught where a result is made: callers get a value. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;

  constructor(code: RefusalCode, detail: string) {
    super(detail.length > MAX_DETAIL ? `${detail.slice(0, MAX_DETAIL)}…` : detail);
    this.code = code;
  }
}

/** @throws Refusal always */
export function refuse(code: RefusalCode, detail: string): never {
  throw new Refusal(code, detail);
}

/** Runs `read` and converts DER faults to `code`: a fault inside a certificate is not a fault of the token around it. */
export function refusingAs<T>(code: RefusalCode, what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal && error.code.startsWith('der_')) throw new Refusal(code, `${what}: ${error.message}`);
    throw error;
  }
}

/** The result for anything thrown. Anything but a Refusal is our own defect: it is refused too, and kept for the log. */
export function refusedBy(error: unknown): Refused {
  if (error instanceof Refusal) return { ok: false, code: error.code, detail: error.message };
  return { ok: false, code: 'verifier_failed', detail: 'The verifier failed on this input.', cause: error };
}
