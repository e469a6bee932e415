import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Processes, not threads: servers that a test starts end with the process that started them.
    pool: 'forks',
    // Most tests wait for servers, so one worker a core would leave the cores idle.
    maxWorkers: 3,
    testTimeout: 90_000,
    hookTimeout: 60_000,
    allowOnly: false,
    // Tests that kill servers share a gate machine's two cores with everything else: one more try there, none at a desk.
    retry: process.env.CI ? 1 : 0,
  },
});
