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
import { cpuSeconds } from './stack/cpu-time.ts';
import { canInstallPackages, installPackages } from './stack/debian.ts';
import { runScript } from './stack/interrupt.ts';
import { StepError } from './stack/progress.ts';
import { CommandError, findProgram, runToEnd } from './stack/run.ts';
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

/** The path of a browser that starts; undefined if there is none on PATH. */
async function findChromium({ signal }: StackContext): Promise<string | undefined> {
  // The shell needs a third of the time for a page.
  for (const name of ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']) {
    const program = findProgram(name);
    // On Ubuntu a program of this name may only say that the browser is a snap.
    if (program && (await runToEnd(program, ['--version'], { signal })).code === 0) return program;
  }
  return undefined;
}

/** The browser for the tests: one on PATH, or else Debian's Chromium without windows, which is installed. Without one, the browser tests are skipped. */
async function ensureChromium(context: StackContext): Promise<string | undefined> {
  // Older systems have only the whole browser.
  for (const name of ['chromium-headless-shell', 'chromium']) {
    const found = await findChromium(context);
    if (found || !canInstallPackages()) return found;
    try {
      await installPackages(context, [name]);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!(error instanceof CommandError || error instanceof StepError)) throw error;
      context.progress.say(`${name} cannot be installed: ${error.message}`);
    }
  }
  return findChromium(context);
}

/** Lets Redis sync its file only once per second, as the test database does. Otherwise each test would wait for the disk writes of all others. */
async function syncSeldom(redisUrl: string): Promise<void> {
  const redis = new Redis(redisUrl);
  await redis.config('SET', 'appendfsync', 'everysec');
  redis.disconnect();
}

const chosen = process.argv.slice(2);

/** Starts what the tests need, one after the other, because each may need apt-get. */
async function startServers(context: StackContext): Promise<{ chromium: string | undefined; stack: Stack }> {
  const chromium = await ensureChromium(context);
  const stack = await startStack(context);
  await syncSeldom(stack.redisUrl);
  return { chromium, stack };
}

await runScript(async (signal) => {
  const { context, dispose } = createTemporaryContext(signal);
  const { progress, dataDir } = context;
  const servers = startServers(context);
  try {
    const [failed, { chromium, stack }] = await Promise.all([chosen.length === 0 ? runChecks(context) : [], servers]);
    progress.say(`Redis: ${stack.redisSource}\nMongoDB: ${stack.mongoSource}`);
    // Temporary files are put here, so that files of interrupted tests are deleted with our own data.
    const TMPDIR = join(dataDir, 'tmp');
    mkdirSync(TMPDIR);
    const forTests = { TEST_REDIS_URL: stack.redisUrl, TEST_MONGODB_URL: stack.mongoUrl, TEST_CHROMIUM: chromium ?? '' };
    const vitest = [inModules('vitest/vitest.mjs'), 'run', ...chosen];
    const env = { ...process.env, TMPDIR, ...forTests, TEST_WHOLE: chosen.length === 0 ? '1' : '' };
    const { code } = await runToEnd(process.execPath, vitest, { signal, env, cwd: checkoutDir, terminal: 'output' });
    if (!chromium) progress.say('\nskipped: the browser tests, because neither chromium nor google-chrome on PATH starts');
    if (failed.length > 0) progress.say(`\nFAILED before the tests: ${failed.join(', ')} (see above)`);
    return failed.length > 0 ? 1 : (code ?? 1);
  } finally {
    await (await servers.catch(() => undefined))?.stack.stop();
    dispose();
    progress.say(`CPU seconds in all: ${cpuSeconds().toFixed(0)}`);
  }
});
