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

/** Returns a time in milliseconds. Code takes a `Clock` as an argument, so that tests can set the time. */
export type Clock = () => number;

/** Milliseconds since the Unix epoch. It jumps when somebody sets the machine's clock, so durations are measured by `performance.now()`. */
export const systemClock: Clock = Date.now;
