/**
 * `npm run test:containers`: tests the image, the compose file and testcontainers on a real engine. If no engine answers, it installs Debian's Podman
 * and runs it on its own socket; images that cannot be pulled are built. Prints a table, and leaves nothing behind except its cache. If arguments are
 * given, it runs only trials with one of these words in their titles.
 */
import { mkdirSync } from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { engineAnswers } from '../../scripts/stack/compose.ts';
import { checkoutDir, createTemporaryContext, type StackContext } from '../../scripts/stack/context.ts';
import { runScript } from '../../scripts/stack/interrupt.ts';
import { takeLock } from '../../scripts/stack/lock.ts';
import { StepError } from '../../scripts/stack/progress.ts';
import { runToEnd } from '../../scripts/stack/run.ts';
import { startStack } from '../../scripts/stack/stack.ts';
import { getBaseImages } from './base-images.ts';
import { getCompose } from './compose-program.ts';
import type { Trial } from './deployment.ts';
import { startPodman } from './podman.ts';

/** Test files that use containers: some break their own servers, some share a server, and one runs `npm start` with both servers from compose. */
const testFiles = [
  ...['test/service/running/servers.test.ts', 'test/service/http/edges-rate-limits.test.ts', 'test/faults/unanswered.test.ts'],
  ...['test/service/stamping/stamping.test.ts', 'test/service/running/start.test.ts'],
];

const rows: { readonly title: string; readonly result: string; readonly isGood: boolean }[] = [];

/** Runs one trial and adds its result to the table. After the time limit its commands are stopped, so that it ends. */
async function attempt(
  context: StackContext,
  { title, limitSeconds }: Pick<Trial, 'title' | 'limitSeconds'>,
  run: (signal: AbortSignal) => Promise<string>,
): Promise<void> {
  const limit = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new Error(`it took longer than its limit of ${limitSeconds} s`);
    late.reject(error);
    limit.abort(error);
  }, limitSeconds * 1_000);
  try {
    const trial = () => Promise.race([run(AbortSignal.any([context.signal, limit.signal])), late.promise]);
    rows.push({ title, result: await context.progress.step(title, trial), isGood: true });
  } catch (error) {
    context.signal.throwIfAborted();
    rows.push({ title, result: `FAILED: ${(error as Error).message}`, isGood: false });
  } finally {
    clearTimeout(timer);
  }
  context.progress.say(`  ${rows.at(-1)?.title}: ${rows.at(-1)?.result}`);
}

async function runTests(context: StackContext, signal: AbortSignal): Promise<string> {
  const stack = await startStack(context);
  try {
    const TMPDIR = join(context.dataDir, 'tmp');
    mkdirSync(TMPDIR);
    const env = { ...process.env, TMPDIR, TEST_REDIS_URL: stack.redisUrl, TEST_MONGODB_URL: stack.mongoUrl };
    // One file at a time: an engine that is busy with other containers is too slow to freeze one within the service's time limit for Redis.
    const vitest = [join(checkoutDir, 'node_modules/vitest/vitest.mjs'), 'run', '--no-file-parallelism', ...testFiles];
    const { code } = await runToEnd(process.execPath, vitest, { signal, env, cwd: checkoutDir, terminal: 'output' });
    if (code !== 0) throw new Error(`vitest ended with code ${code}; see above`);
    return `${testFiles.length} files passed; Redis: ${stack.redisSource}`;
  } finally {
    await stack.stop();
  }
}

/** Runs everything that needs an engine. Modules that read `DOCKER_HOST` when they are loaded are loaded here. */
async function runTrials(context: StackContext, words: readonly string[]): Promise<void> {
  const compose = await getCompose(context);
  // `npm start` looks on PATH for a Compose that is not Docker's plugin.
  if (isAbsolute(compose[0] ?? '')) process.env.PATH = `${dirname(compose[0] ?? '')}${delimiter}${process.env.PATH}`;
  const { createDeployment } = await import('./deployment.ts');
  const { trials } = await import('./trials.ts');
  const isChosen = (title: string) => words.length === 0 || words.some((word) => title.includes(word));
  const tests = { title: 'tests by testcontainers', limitSeconds: 600 };
  if (isChosen(tests.title)) await attempt(context, tests, (signal) => runTests(context, signal));
  const chosen = trials.filter(({ title }) => isChosen(title));
  if (chosen.length === 0) return;
  const deployment = await createDeployment(context, compose);
  try {
    for (const trial of chosen) await attempt(context, trial, (signal) => trial.run(deployment.within(signal)));
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
  // Two runs at once would remove each other's containers.
  const holder = await takeLock(join(context.cacheDir, 'containers'), () => `process ${process.pid}`);
  if (holder !== undefined) throw new StepError('npm run test:containers', `it runs already: ${holder}`, 'wait for its end');
  const podman = (await engineAnswers(context)) ? undefined : await startPodman(context);
  const note = (title: string, result: string) => rows.push({ title, result, isGood: true });
  try {
    Object.assign(process.env, podman?.env);
    if (podman === undefined) note('engine', `the one at ${process.env.DOCKER_HOST || 'the usual socket'}`);
    else {
      note('engine', `${await podman.podman(['--version'])}, with a socket of its own`);
      for (const { name, source } of await getBaseImages(context, podman)) note(name, source);
    }
    await runTrials(context, process.argv.slice(2));
    await podman?.podman(['image', 'prune', '--force', '--filter', 'until=168h']);
  } finally {
    await podman?.stop();
    dispose();
  }

  const width = Math.max(...rows.map(({ title }) => title.length));
  for (const { title, result } of rows) process.stdout.write(`${title.padEnd(width)}  ${result.replaceAll('\n', ' ')}\n`);
  const failed = rows.filter(({ isGood }) => !isGood).length;
  process.stdout.write(failed === 0 ? '\nall trials passed\n' : `\n${failed} FAILED\n`);
  return failed === 0 ? 0 : 1;
});
