import { patience } from './pace.ts';

/** How long to wait until the next check: it grows with the total time, because each check is work for the service. */
const pauseMs = (elapsedMs: number): number => Math.min(250, Math.max(25, elapsedMs / 10));

/** Waits until `check` returns a truthy value, and returns it; fails after `withinMs` of a usual machine. Checks less and less often, or every `everyMs`. */
export async function eventually<T>(check: () => Promise<T | undefined | false>, withinMs = 30_000, everyMs?: number): Promise<T> {
  const startedAt = Date.now();
  for (;;) {
    const value = await check();
    if (value) return value;
    const elapsedMs = Date.now() - startedAt;
    if (elapsedMs > patience(withinMs)) throw new Error(`not so within ${patience(withinMs)} ms`);
    await new Promise((resolve) => setTimeout(resolve, everyMs ?? pauseMs(elapsedMs)));
  }
}
