import type { RefusalCode } from './codes.ts';

/** Why something was refused. `detail` is one sentence for the log; clients read the sentence of the code (V3). */
export interface Refused {
  readonly ok: false;
  readonly code: RefusalCode;
  readonly detail: string;
  /** What was thrown, when `code` is `verifier_failed`. */
  readonly cause?: unknown;
}

/** A detail may quote a stranger's token, which may be long. */
const MAX_DETAIL = 500;

/** How the library says no within itself. It is caught where a result is made and goes no further: callers get a value. */
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

/** Runs `read` and refuses as `code` what it finds malformed: a fault inside a certificate is not one of the token around it. */
export function refusingAs<T>(code: RefusalCode, what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal && error.code.startsWith('der_')) throw new Refusal(code, `${what}: ${error.message}`);
    throw error;
  }
}

/** The result for anything thrown. What is not a Refusal is a defect of ours: refused all the same, and kept for the log. */
export function refusedBy(error: unknown): Refused {
  if (error instanceof Refusal) return { ok: false, code: error.code, detail: error.message };
  return { ok: false, code: 'verifier_failed', detail: 'The verifier met something it was not written for.', cause: error };
}
