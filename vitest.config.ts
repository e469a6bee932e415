import { defineConfig } from 'vitest/config';
import { dearestFiles } from './test/support/dearest-files.ts';
import { isFaults, isLong } from './test/support/depth.ts';
import { measurePace, patience } from './test/support/pace.ts';

// The processes of the tests inherit it.
process.env.TEST_PACE = String(measurePace());

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // What takes minutes runs in `npm run test:long` and `npm run test:faults`.
    exclude: [...(isLong || isFaults ? [] : ['test/long/**']), ...(process.env.TEST_CHROMIUM === '' ? ['test/browser/**'] : [])],
    // Processes, not threads: servers that a test starts end with the process that started them.
    pool: 'forks',
    // Files follow one another in the same process, which loads the service and its packages once; Node reads TypeScript itself.
    isolate: false,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Most tests wait for servers, so one worker a core would leave the cores idle.
    maxWorkers: 3,
    testTimeout: patience(180_000),
    hookTimeout: patience(180_000),
    expect: { poll: { timeout: patience(30_000) } },
    allowOnly: false,
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/each-file.ts'],
    reporters: ['default', dearestFiles],
  },
});
