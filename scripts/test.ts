/**
 * `npm test`: type check, lint, and every test, on free ports and with data of its own. Arguments are vitest's, and leave the checks out:
 *
 *     npm test -- test/unit
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { canInstallPackages, findProgram, installPackages } from './stack/administrator.ts';
import { checkoutDir, type StackContext, together } from './stack/context.ts';
import { runScript } from './stack/interrupt.ts';
import { CommandError, runCommand } from './stack/run-command.ts';
import { runToTerminal } from './stack/run-to-terminal.ts';
import { createTemporaryContext, type Stack, startStack } from './stack/stack.ts';

const inModules = (path: string) => join(checkoutDir, 'node_modules', path);

/** Checks that need no server; answers the names of those that failed and shows what they said. */
async function runChecks({ signal, progress }: StackContext): Promise<string[]> {
  const failed: string[] = [];
  // The compiler is a Go program that collects its garbage all the time, unless it may hold on to more of it.
  const env = { ...process.env, GOGC: '400' };
  // One checker: several are sooner done on many idle cores, and do a part of the work several times.
  const typeCheck = [inModules('typescript/bin/tsc'), '--noEmit', '--checkers', '1'];
  const checks = {
    'type check': typeCheck,
    'type check of the pages’ scripts': [...typeCheck, '--project', 'views'],
    'type check of the client': [...typeCheck, '--project', 'clients/typescript'],
    lint: [inModules('@biomejs/biome/bin/biome'), 'check'],
  };
  for (const [name, command] of Object.entries(checks)) {
    try {
      await progress.step(`Running the ${name}`, () =>
        runCommand(process.execPath, command, { signal, env, cwd: checkoutDir, keepLines: 200 }),
      );
      progress.say(`${name}: passed`);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      progress.say(`${name}: FAILED\n${error.output}`);
      failed.push(name);
    }
  }
  return failed;
}

/** Browser tests run in Debian's Chromium; without it they say that they cannot run. */
async function ensureChromium(context: StackContext): Promise<void> {
  if (['chromium', 'chromium-browser', 'google-chrome'].some((name) => findProgram(name) !== undefined)) return;
  if (canInstallPackages()) await installPackages(context, ['chromium']);
  else context.progress.say('no chromium on PATH and none can be installed: browser tests cannot run');
}

/** As the store of the tests does without syncs: else each test waits for the disk with the writes of all others. */
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
    const [failed, { redisUrl, mongoUrl }] = await together(context, chosen.length === 0 ? runChecks : async () => [], async (linked) => {
      await ensureChromium(linked);
      stack = await startStack(linked);
      await syncSeldom(stack.redisUrl);
      return stack;
    });
    context.progress.say(`Redis: ${stack?.redisSource}\nMongoDB: ${stack?.mongoSource}`);
    const vitest = [inModules('vitest/vitest.mjs'), 'run', ...chosen];
    // Whatever tests leave behind when they are interrupted goes away with our own data.
    const TMPDIR = join(context.dataDir, 'tmp');
    mkdirSync(TMPDIR);
    const env = { ...process.env, TMPDIR, TEST_REDIS_URL: redisUrl, TEST_MONGODB_URL: mongoUrl };
    const code = await runToTerminal(process.execPath, vitest, { signal, env, cwd: checkoutDir });
    if (failed.length > 0) context.progress.say(`\nFAILED before the tests: ${failed.join(', ')} (see above)`);
    return failed.length > 0 ? 1 : code;
  } finally {
    await stack?.stop();
    dispose();
  }
});
