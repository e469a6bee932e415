import { setTimeout as delay } from 'node:timers/promises';

export interface Probes {
  /** The duration of each probe with the expected answer, in milliseconds. */
  readonly passedMs: number[];
  /** The duration of each probe without the expected answer, in milliseconds. */
  readonly failedMs: number[];
  stop(): Promise<void>;
}

/** Runs probes one after the other, with a pause of `everyMs`, until it is stopped. `probe` returns whether the answer was as expected. */
export function startProbes(everyMs: number, probe: () => Promise<boolean>): Probes {
  const passedMs: number[] = [];
  const failedMs: number[] = [];
  let isOver = false;
  const running = (async () => {
    while (!isOver) {
      const startedAt = performance.now();
      const passed = await probe().catch(() => false);
      (passed ? passedMs : failedMs).push(performance.now() - startedAt);
      await delay(everyMs);
    }
  })();
  return {
    passedMs,
    failedMs,
    stop: () => {
      isOver = true;
      return running;
    },
  };
}

/** The median and the longest of some durations, rounded to whole milliseconds. */
export function figuresOf(ms: readonly number[]): { median: number; longest: number } {
  const sorted = ms.toSorted((a, b) => a - b);
  return { median: Math.round(sorted[sorted.length >> 1] ?? Number.NaN), longest: Math.round(sorted.at(-1) ?? Number.NaN) };
}
