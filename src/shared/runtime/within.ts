/** The time of `within` is over. */
export class TooLateError extends Error {
  override readonly name = 'TooLateError';
}

/**
 * Returns what `work` returns, but waits for it at most `ms` milliseconds. After that, its result or error is ignored. `onLate` may then end the work:
 * if the work ends at once with an error of its own, that is the error.
 *
 * @throws TooLateError, and the errors of `work`
 */
export async function within<T>(ms: number, work: () => Promise<T>, onLate?: (error: TooLateError) => void): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new TooLateError(`not finished within ${Math.round(ms)} ms`);
    onLate?.(error);
    setImmediate(late.reject, error);
  }, ms);
  try {
    return await Promise.race([work(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the answer of `ask`, or undefined if `ask` fails or takes longer than `ms` milliseconds. For callers that must not hang. */
export const answerWithin = <T>(ms: number, ask: () => Promise<T>): Promise<T | undefined> => within(ms, ask).catch(() => undefined);
