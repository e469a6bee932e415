/** How long to wait until the next check: it grows with the total time, because each check is work for the service. */
const pauseMs = (elapsedMs: number): number => Math.min(250, Math.max(25, elapsedMs / 10));

/** Waits until `check` returns a truthy value, and returns it; fails after `withinMs`. Checks less and less often, or every `everyMs`. */
export async function eventually<T>(check: () => Promise<T | undefined | false>, withinMs = 20_000, everyMs?: number): Promise<T> {
  const startedAt = Date.now();
  for (;;) {
    const value = await check();
    if (value) return value;
    const elapsedMs = Date.now() - startedAt;
    if (elapsedMs > withinMs) throw new Error(`not so within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, everyMs ?? pauseMs(elapsedMs)));
  }
}
