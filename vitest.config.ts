import { defineConfig } from 'vitest/config';
import { isFaults, isLong } from './test/support/depth.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // What takes minutes runs in `npm run test:long` and `npm run test:faults`.
    exclude: isLong || isFaults ? [] : ['test/long/**'],
    // Processes, not threads: servers that a test starts end with the process that started them.
    pool: 'forks',
    // Files follow one another in the same process, which loads the service and its packages once; Node reads TypeScript itself.
    isolate: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Most tests wait for servers, so one worker a core would leave the cores idle.
    maxWorkers: 3,
    testTimeout: 90_000,
    hookTimeout: 60_000,
    // One second, the default, is too short for a busy machine.
    expect: { poll: { timeout: 20_000 } },
    allowOnly: false,
  },
});
