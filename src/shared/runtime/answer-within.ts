/** Returns the answer of `ask`, or undefined if `ask` fails or takes longer than `timeoutMs`. For callers that must not hang. */
export async function answerWithin<T>(timeoutMs: number, ask: () => Promise<T>): Promise<T | undefined> {
  const timeout = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => timeout.resolve(undefined), timeoutMs);
  try {
    return await Promise.race([ask(), timeout.promise]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
