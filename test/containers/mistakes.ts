import { createServer } from 'node:net';
import { CommandError } from '../../scripts/stack/run.ts';
import type { Deployment, Trial } from './deployment.ts';

const services = ['api', 'worker', 'redis', 'mongodb', 'mail', 'prometheus'];

/** Runs `up` with a mistake in the settings. It must fail, the check must report the mistake in one line, and nothing may be left running. */
async function expectRefused(deployment: Deployment, env: NodeJS.ProcessEnv, line: RegExp): Promise<string> {
  const { compose, inspect } = deployment;
  try {
    await compose(['up', '--detach'], env);
    throw new Error('it was started');
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
  }
  const said = (await compose(['logs', '--no-log-prefix', 'check'])).trim().split('\n').filter(Boolean);
  if (said.length !== 1 || !line.test(said[0] ?? '')) throw new Error(`it said:\n${said.join('\n')}`);
  const running = (await Promise.all(services.map(inspect))).flat().filter(({ State }) => State.Running);
  if (running.length > 0) throw new Error(`${running.map(({ Name }) => Name).join(', ')} runs`);
  await compose(['down', '--volumes']);
  return `"${said[0]}", and nothing runs`;
}

/** Mistakes that are found before anything is started. */
export const mistakes: readonly Trial[] = [
  {
    title: 'docker compose build',
    limitSeconds: 600,
    run: async ({ compose }) => {
      await compose(['build']);
      return 'done';
    },
  },
  {
    title: 'no secret file',
    limitSeconds: 120,
    run: (deployment) =>
      expectRefused(deployment, { SERVICE_TOKENS_FILE: '/config/nothing' }, /^qstamp: SERVICE_TOKENS_FILE: got "\/config\/nothing"/),
  },
  {
    title: 'a providers file that is not there',
    limitSeconds: 120,
    run: (deployment) =>
      expectRefused(
        deployment,
        { TSP: 'file', TSP_PROVIDERS_FILE: '/config/providers.json' },
        /^qstamp: TSP_PROVIDERS_FILE: \/config\/providers\.json/,
      ),
  },
  {
    title: 'port taken',
    limitSeconds: 120,
    run: async (deployment) => {
      const other = createServer((socket) => void socket.destroy());
      const { port } = new URL(deployment.url);
      await new Promise<void>((resolve) => other.listen(Number(port), '127.0.0.1', resolve));
      try {
        return await expectRefused(deployment, {}, /^qstamp: PORT: got "\d+", but another process listens on it/);
      } finally {
        other.close();
      }
    },
  },
];
