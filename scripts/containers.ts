/**
 * `npm run test:containers`: the image, the compose file and testcontainers on a real engine. Where none answers, it installs Debian's Podman and
 * runs it on a socket of its own; images that cannot be pulled are made. Prints a table, and leaves nothing but what it keeps in the cache. Words as
 * arguments: only trials with one of them in their titles.
 */
import { mkdirSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { getBaseImages } from './containers/base-images.ts';
import { getCompose } from './containers/compose-program.ts';
import { type Podman, startPodman } from './containers/podman.ts';
import { checkoutDir, type StackContext } from './stack/context.ts';
import { answersAsEngine, engineAnswers } from './stack/engine.ts';
import { runScript } from './stack/interrupt.ts';
import { withLock } from './stack/lock.mjs';
import { runToTerminal } from './stack/run-to-terminal.ts';
import { createTemporaryContext, startStack } from './stack/stack.ts';

/** Tests that break servers of their own, such as share one, and `npm start` with both servers by compose. */
const testFiles = [
  ...['test/e2e/servers.test.ts', 'test/api/edges-rate-limits.test.ts', 'test/faults/unanswered.test.ts'],
  ...['test/e2e/stamping.test.ts', 'test/e2e/start.test.ts'],
];

const rows: { readonly title: string; readonly result: string; readonly isGood: boolean }[] = [];

async function attempt(context: StackContext, title: string, run: () => Promise<string>): Promise<void> {
  try {
    rows.push({ title, result: await context.progress.step(title, run), isGood: true });
  } catch (error) {
    context.signal.throwIfAborted();
    rows.push({ title, result: `FAILED: ${(error as Error).message}`, isGood: false });
  }
  context.progress.say(`  ${rows.at(-1)?.title}: ${rows.at(-1)?.result}`);
}

async function runTests(context: StackContext): Promise<string> {
  const stack = await startStack(context);
  try {
    const TMPDIR = join(context.dataDir, 'tmp');
    mkdirSync(TMPDIR);
    const env = { ...process.env, TMPDIR, TEST_REDIS_URL: stack.redisUrl, TEST_MONGODB_URL: stack.mongoUrl };
    // One file after the other: an engine that is busy with another's containers freezes none within the time that the service gives Redis.
    const vitest = [join(checkoutDir, 'node_modules/vitest/vitest.mjs'), 'run', '--no-file-parallelism', ...testFiles];
    const code = await runToTerminal(process.execPath, vitest, { signal: context.signal, env, cwd: checkoutDir });
    if (code !== 0) throw new Error(`vitest ended with code ${code}; see above`);
    return `${testFiles.length} files passed; Redis: ${stack.redisSource}`;
  } finally {
    await stack.stop();
  }
}

/** The rest, once an engine is there; what reads `DOCKER_HOST` when it is loaded is loaded here. */
async function runTrials(context: StackContext, words: readonly string[], podman: Podman | undefined): Promise<void> {
  const compose = await getCompose(context);
  // `npm start` looks there for one that is not Docker's plugin.
  if (isAbsolute(compose[0] ?? '')) process.env.PATH = `${dirname(compose[0] ?? '')}${delimiter}${process.env.PATH}`;
  const { createDeployment } = await import('./containers/deployment.ts');
  const { trials } = await import('./containers/trials.ts');
  const isChosen = (title: string) => words.length === 0 || words.some((word) => title.includes(word));
  if (isChosen('tests by testcontainers')) await attempt(context, 'tests by testcontainers', () => runTests(context));
  const chosen = trials.filter(({ title }) => isChosen(title));
  if (chosen.length === 0) return;
  const deployment = await createDeployment(context, compose, podman);
  try {
    for (const { title, run } of chosen) await attempt(context, title, () => run(deployment));
  } finally {
    if (rows.some(({ isGood }) => !isGood)) {
      const logs = await deployment.compose(['logs', '--no-color', '--tail', '15', 'api', 'worker']).catch((error: Error) => error.message);
      context.progress.say(logs);
    }
    await deployment.compose(['down', '--volumes', '--remove-orphans', '--timeout', '5']).catch(() => undefined);
  }
}

await runScript(async (signal) => {
  const { context, dispose } = createTemporaryContext(signal);
  const isThere = await engineAnswers(context);
  const run = async () => {
    const podman = isThere ? undefined : await startPodman(context);
    try {
      Object.assign(process.env, podman?.env);
      if (podman === undefined)
        rows.push({ title: 'engine', result: `the one at ${process.env.DOCKER_HOST || 'the usual socket'}`, isGood: true });
      else {
        rows.push({ title: 'engine', result: `${await podman.podman(['--version'])}, with a socket of its own`, isGood: true });
        for (const { name, source } of await getBaseImages(context, podman)) rows.push({ title: name, result: source, isGood: true });
      }
      await runTrials(context, process.argv.slice(2), podman);
      if (podman !== undefined) {
        const { DOCKER_HOST = '' } = podman.env;
        await podman.podman(['image', 'prune', '--force', '--filter', 'until=168h']);
        await podman.stop();
        if (await answersAsEngine(DOCKER_HOST)) throw new Error('Podman still answers');
      }
    } finally {
      await podman?.stop();
      dispose();
    }
  };
  // Two at once would take each other's containers for leftovers.
  await withLock(join(context.cacheDir, 'containers'), run, { signal });

  const width = Math.max(...rows.map(({ title }) => title.length));
  for (const { title, result } of rows) process.stdout.write(`${title.padEnd(width)}  ${result.replaceAll('\n', ' ')}\n`);
  const failed = rows.filter(({ isGood }) => !isGood).length;
  process.stdout.write(failed === 0 ? '\nall as it should be\n' : `\n${failed} FAILED\n`);
  return failed === 0 ? 0 : 1;
});
