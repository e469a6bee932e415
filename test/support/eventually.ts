/** How long to wait until the next look: the longer it has taken, the longer, as a look at the service is work for it. */
const pauseMs = (elapsedMs: number): number => Math.min(250, Math.max(25, elapsedMs / 10));

/** Waits until `check` answers something truthy, and answers that; fails after `withinMs`. It looks less and less often, or every `everyMs`. */
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
