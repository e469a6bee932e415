import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { getContainerRuntimeClient } from 'testcontainers';
import { type Checkout, createCheckout, type RunningCommand } from '../../test/support/checkout.ts';
import { CommandError } from '../stack/run-command.ts';
import type { Deployment, Trial } from './deployment.ts';
import type { Podman } from './podman.ts';
import { until } from './until.ts';

const services = ['secrets', 'check', 'api', 'worker', 'redis', 'mongodb', 'mail', 'prometheus', 'tsa'];
const lost = /the container engine at \S+ stopped answering/g;

/** A trial that kills the engine, and has it answer again whatever comes of that. */
const whereEngineIsOurs = (title: string, run: (engine: Podman, deployment: Deployment) => Promise<string>): Trial => ({
  title,
  run: async (deployment) => {
    const { engine } = deployment;
    if (engine === undefined) return 'not tried: the engine is not ours to kill';
    try {
      return await run(engine, deployment);
    } finally {
      await engine.crash();
      await engine.revive();
    }
  },
});

/** Waits for the end of a command whose engine has gone: it must say so once, without a stack, and leave no process of ours. */
async function expectOneLine(command: RunningCommand, checkout: Checkout): Promise<void> {
  const code = await command.exitCode;
  const output = command.output();
  if (code !== 1 || output.match(lost)?.length !== 1 || /^ +at /m.test(output)) throw new Error(`it ended with code ${code}:\n${output}`);
  // Those of containers go on without their engine.
  const ours = checkout.processes().filter((line) => /scripts\/|src\/|compose/.test(line));
  if (ours.length > 0) throw new Error(`still running: ${ours.join(', ')}`);
}

const run = (checkout: Checkout, script: string) =>
  checkout.run(process.execPath, ['scripts/bootstrap.mjs', script], { PORT: '0', TESTCONTAINERS_RYUK_DISABLED: 'true' });

async function withCheckout<T>(use: (checkout: Checkout) => Promise<T>): Promise<T> {
  const checkout = createCheckout();
  try {
    return await use(checkout);
  } finally {
    await checkout.dispose();
  }
}

/** What the engine goes without is removed once it is back. */
async function removeTestContainers(): Promise<number> {
  const { dockerode } = (await getContainerRuntimeClient()).container;
  const left = await dockerode.listContainers({ all: true, filters: { label: ['org.testcontainers=true'] } });
  for (const { Id } of left) await dockerode.getContainer(Id).remove({ force: true, v: true });
  return left.length;
}

export const engineTrials: readonly Trial[] = [
  whereEngineIsOurs('the engine is killed under docker compose up', async (engine, { compose, inspect }) => {
    const up = compose(['up', '--detach', '--wait']).then(
      () => 'it was started',
      (error: Error) => error,
    );
    await until('Redis is there', async () => (await inspect('redis')).length > 0);
    await engine.crash();
    const failure = await up;
    if (!(failure instanceof CommandError)) throw new Error(String(failure));
    const said = failure.output.split('\n').at(-1);
    await engine.revive();
    await compose(['up', '--detach', '--wait']);
    await compose(['down', '--volumes']);
    const left = (await Promise.all(services.map(inspect))).flat();
    if (left.length > 0) throw new Error(`${left.map(({ Name }) => Name).join(', ')} is there`);
    return `"${said}"; the same command brings all up once it is back, and down leaves nothing`;
  }),
  whereEngineIsOurs('the engine is killed under npm start, which begins, then is up', (engine) =>
    withCheckout(async (checkout) => {
      const first = run(checkout, 'scripts/start.ts');
      await until('a server is begun', async () => existsSync(join(checkout.dir, '.local/logs')));
      await engine.crash();
      await expectOneLine(first, checkout);
      const withoutEngine = run(checkout, 'scripts/start.ts');
      if ((await withoutEngine.exitCode) !== 1 || !withoutEngine.output().includes('no container engine answers'))
        throw new Error(`without an engine: ${withoutEngine.output()}`);
      await engine.revive();
      const second = run(checkout, 'scripts/start.ts');
      await second.until(/qstamp is up/);
      await engine.crash();
      await expectOneLine(second, checkout);
      await engine.revive();
      const third = run(checkout, 'scripts/start.ts');
      await third.until(/qstamp is up/);
      third.interrupt();
      if ((await third.exitCode) !== 0) throw new Error(third.output());
      await until('nothing of it runs', async () => checkout.processes().length === 0);
      return 'one line each time, nothing of ours goes on; once it is back, npm start takes its servers over';
    }),
  ),
  whereEngineIsOurs('the engine is killed while testcontainers start the servers', (engine) =>
    withCheckout(async (checkout) => {
      const { dockerode } = (await getContainerRuntimeClient()).container;
      const servers = run(checkout, 'scripts/dev-servers.ts');
      await until('a container is there', async () => (await dockerode.listContainers({ all: true })).length > 0);
      await engine.crash();
      await expectOneLine(servers, checkout);
      await engine.revive();
      return `one line, nothing of ours goes on; ${await removeTestContainers()} container(s) were left, as it says`;
    }),
  ),
];
