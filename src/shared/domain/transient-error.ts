/**
 * Something outside this process did not work, and may work later. A job that fails for such a reason is tried until it succeeds; one that fails
 * for any other is given up after five tries.
 */
export class TransientError extends Error {
  override readonly name: string = 'TransientError';
}
