/**
 * `npm test`: runs the type check, the linter and every test, on free ports and with temporary data. With arguments, which are for vitest, the checks
 * are skipped:
 *
 * npm test -- test/verifier
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

/** Runs the checks that need no server. Shows the output of failed checks and returns their names. */
async function runChecks({ signal, progress }: StackContext): Promise<string[]> {
  const failed: string[] = [];
  // The compiler is a Go program. With this setting it collects garbage less often and is faster.
  const env = { ...process.env, GOGC: '400' };
  // Only one checker: several repeat part of the work, so they are faster only with many idle cores.
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

/** Installs Debian's Chromium for the browser tests, if no browser is on PATH. Without a browser these tests report that they cannot run. */
async function ensureChromium(context: StackContext): Promise<void> {
  if (['chromium', 'chromium-browser', 'google-chrome'].some((name) => findProgram(name) !== undefined)) return;
  if (canInstallPackages()) await installPackages(context, ['chromium']);
  else context.progress.say('no chromium on PATH and none can be installed: browser tests cannot run');
}

/** Lets Redis sync its file only once per second, as the test database does. Otherwise each test would wait for the disk writes of all others. */
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
    // Temporary files are put here, so that files of interrupted tests are deleted with our own data.
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
