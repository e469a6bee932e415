import { spawnSync } from 'node:child_process';
import { pbkdf2Sync } from 'node:crypto';

/** What the fixed work of `measurePace` takes on a usual machine that does nothing else, in milliseconds. */
const usualMs = 200;

/** How many times longer than on a usual machine a fixed piece of work takes here and now, at least 1: it starts a process, and then computes. */
export function measurePace(): number {
  const startedAt = performance.now();
  spawnSync(process.execPath, ['--eval', '']);
  pbkdf2Sync('password', 'salt', 200_000, 64, 'sha512');
  return Math.max(1, (performance.now() - startedAt) / usualMs);
}

/**
 * How long a test waits here for what takes at most `ms` milliseconds on a usual machine. Every limit of time in a test is made by it.
 * vitest.config.ts measures once for each run.
 */
export const patience = (ms: number): number => Math.ceil(ms * Number(process.env.TEST_PACE ?? 1));
