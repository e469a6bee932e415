/**
 * What `ask` answers, or undefined when it fails or takes longer than `timeoutMs`: for whoever reports the state of something and
 * may not hang because of it.
 */
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
