import { afterAll } from 'vitest';
import { cpuSeconds } from '../../scripts/stack/cpu-time.ts';
import { endUnused } from './shared.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** The CPU time that a test file took, in seconds. */
    cpuSeconds?: number;
  }
}

// vitest evaluates this file anew before each test file.
const before = cpuSeconds();
// biome-ignore lint/correctness/noEmptyPattern: vitest demands a pattern here
afterAll(async ({}, file) => {
  await endUnused();
  file.meta.cpuSeconds = cpuSeconds() - before;
});
