/** The time of `within` is over. */
export class TooLateError extends Error {
  override readonly name = 'TooLateError';
}

/**
 * Returns what `work` returns, but waits for it at most `ms` milliseconds. After that, its signal aborts, and its result or error is ignored.
 *
 * @throws TooLateError, and the errors of `work`
 */
export async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ending = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new TooLateError(`not finished within ${Math.round(ms)} ms`);
    ending.abort(error);
    // Work that heeds the signal ends with an error of its own.
    setImmediate(late.reject, error);
  }, ms);
  try {
    return await Promise.race([work(ending.signal), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the answer of `ask`, or undefined if `ask` fails or takes longer than `ms` milliseconds. For callers that must not hang. */
export const answerWithin = <T>(ms: number, ask: () => Promise<T>): Promise<T | undefined> => within(ms, ask).catch(() => undefined);
