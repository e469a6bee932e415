import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Processes, not threads: servers that a test starts end with the process that started them.
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    allowOnly: false,
  },
});
