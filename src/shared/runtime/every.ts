import { setTimeout as delay } from 'node:timers/promises';

/**
 * Calls `look` now, and again `ms` milliseconds after each call has ended, until `signal` aborts. Resolves when the last call has ended. `look` handles
 * its own errors. The pauses do not keep the process alive.
 */
export async function every(ms: number | (() => number), look: () => unknown, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await look();
    // The delay rejects only when the signal aborts.
    await delay(typeof ms === 'number' ? ms : ms(), undefined, { ref: false, signal }).catch(() => undefined);
  }
}
