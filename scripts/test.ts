/**
 * `npm test`: type check, lint, and every test, on free ports and with temporary data. Arguments are for vitest and skip the checks:
 *
 *     npm test -- test/verifier
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { checkoutDir, createTemporaryContext, type StackContext } from './stack/context.ts';
import { canInstallPackages, installPackages } from './stack/debian.ts';
import { runScript } from './stack/interrupt.ts';
import { findProgram, runToEnd } from './stack/run.ts';
import { type Stack, startStack } from './stack/stack.ts';

const inModules = (path: string) => join(checkoutDir, 'node_modules', path);

/** Checks that need no server; returns the names of failed ones and shows their output. */
async function runChecks({ signal, progress }: StackContext): Promise<string[]> {
  const failed: string[] = [];
  // The compiler is a Go program that collects garbage all the time, unless it may keep more of it.
  const env = { ...process.env, GOGC: '400' };
  // One checker: several are faster only with many idle cores, and repeat part of the work.
  const typeCheck = [inModules('typescript/bin/tsc'), '--noEmit', '--checkers', '1'];
  const checks = {
    'type check': typeCheck,
    'type check of the pages’ scripts': [...typeCheck, '--project', 'views'],
    'type check of the client': [...typeCheck, '--project', 'clients/typescript'],
    lint: [inModules('@biomejs/biome/bin/biome'), 'check'],
  };
  for (const [name, command] of Object.entries(checks)) {
    const { code, output } = await runToEnd(process.execPath, command, { signal, env, cwd: checkoutDir });
    progress.say(code === 0 ? `${name}: passed` : `${name}: FAILED\n${output}`);
    if (code !== 0) failed.push(name);
  }
  return failed;
}

/** Browser tests run in Debian's Chromium; without it they report that they cannot run. */
async function ensureChromium(context: StackContext): Promise<void> {
  if (['chromium', 'chromium-browser', 'google-chrome'].some((name) => findProgram(name) !== undefined)) return;
  if (canInstallPackages()) await installPackages(context, ['chromium']);
  else context.progress.say('no chromium on PATH and none can be installed: browser tests cannot run');
}

/** Redis without syncs, like the test database: otherwise each test waits for the disk writes of all others. */
async function syncSeldom(redisUrl: string): Promise<void> {
  const redis = new Redis(redisUrl);
  await redis.config('SET', 'appendfsync', 'everysec');
  redis.disconnect();
}

const chosen = process.argv.slice(2);

await runScript(async (signal) => {
  const { context, dispose } = createTemporaryContext(signal);
  let stack: Stack | undefined;
  try {
    const failed = chosen.length === 0 ? await runChecks(context) : [];
    await ensureChromium(context);
    stack = await startStack(context);
    await syncSeldom(stack.redisUrl);
    context.progress.say(`Redis: ${stack.redisSource}\nMongoDB: ${stack.mongoSource}`);
    const vitest = [inModules('vitest/vitest.mjs'), 'run', ...chosen];
    // Files that interrupted tests leave behind are deleted with our own data.
    const TMPDIR = join(context.dataDir, 'tmp');
    mkdirSync(TMPDIR);
    const env = { ...process.env, TMPDIR, TEST_REDIS_URL: stack.redisUrl, TEST_MONGODB_URL: stack.mongoUrl };
    const { code } = await runToEnd(process.execPath, vitest, { signal, env, cwd: checkoutDir, terminal: 'output' });
    if (failed.length > 0) context.progress.say(`\nFAILED before the tests: ${failed.join(', ')} (see above)`);
    return failed.length > 0 ? 1 : (code ?? 1);
  } finally {
    await stack?.stop();
    dispose();
  }
});
