/** The answer of `ask`, or undefined if it fails or takes longer than `timeoutMs`. For status reports, which must not hang. */
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
