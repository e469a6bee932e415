import { setTimeout as delay } from 'node:timers/promises';

/**
 * Calls `look` now, and again `ms` milliseconds after each call has ended, until `signal` aborts. Resolves when the last call has ended. `look` handles
 * its own errors. The pauses do not keep the process alive.
 */
export async function every(ms: number | (() => number), look: () => unknown, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await look();
    await pause(typeof ms === 'number' ? ms : ms(), signal);
  }
}

/**
 * Tries `work` until it succeeds or `signal` aborts, with pauses of `ms` milliseconds. `onFailed` gets each error, and may throw it to end the tries.
 */
export async function untilDone(
  ms: number,
  work: () => Promise<unknown>,
  { signal, onFailed }: { signal: AbortSignal; onFailed: (error: unknown) => void },
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
      return;
    } catch (error) {
      if (signal.aborted) return;
      onFailed(error);
    }
    await pause(ms, signal);
  }
}

/** The delay rejects only when the signal aborts. */
const pause = (ms: number, signal: AbortSignal): Promise<void> => delay(ms, undefined, { ref: false, signal }).catch(() => undefined);
