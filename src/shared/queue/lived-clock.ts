const tickMs = 50;
/** What a busy event loop may keep a tick waiting; whatever is longer, the process stood still. */
const longestTickMs = 2 * tickMs;

/** Tells how long this process has lived, in milliseconds. */
export interface LivedClock {
  now(): number;
  stop(): void;
}

/**
 * Starts a clock that stands still while this process does, in a frozen machine or a blocked event loop. Who waits for an answer by this
 * clock does not take one that he could not read for one that never came.
 */
export function startLivedClock(): LivedClock {
  let livedMs = 0;
  let tickedAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    livedMs += Math.min(now - tickedAt, longestTickMs);
    tickedAt = now;
  }, tickMs).unref();
  return { now: () => livedMs, stop: () => clearInterval(timer) };
}
