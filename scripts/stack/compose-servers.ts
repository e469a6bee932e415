import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ComposeServer, composeHealthCheck, composeImage } from './compose-file.ts';
import { checkoutDir, type StackContext } from './context.ts';
import { withLock } from './lock.mjs';
import { createManagedProcess } from './managed-process.ts';
import { expectConnection, findFreePort } from './ports.ts';
import { StepError } from './progress.mjs';
import { CommandError, runCommand } from './run-command.ts';
import type { ServerOptions, StackServer } from './server.ts';

interface Reached {
  readonly portVariable: string;
  /** Where its container keeps the password of the service. */
  readonly passwordFile: string;
  readonly urlAt: (port: number, password: string) => string;
}

const reached: Readonly<Record<ComposeServer, Reached>> = {
  redis: {
    portVariable: 'START_REDIS_PORT',
    passwordFile: '/run/redis/password',
    urlAt: (port, password) => `redis://:${password}@127.0.0.1:${port}`,
  },
  mongodb: {
    portVariable: 'START_MONGODB_PORT',
    passwordFile: '/run/mongodb/service-password',
    urlAt: (port, password) => `mongodb://qstamp:${password}@127.0.0.1:${port}/qstamp?directConnection=true&authSource=admin`,
  },
};

/** The name of our containers and volumes: kept beside the other state, so that who deletes that begins with fresh volumes too. */
function projectOf(dataDir: string): string {
  const file = join(dataDir, 'compose-project');
  if (!existsSync(file)) writeFileSync(file, `qstamp-${randomBytes(6).toString('hex')}\n`);
  return readFileSync(file, 'utf8').trim();
}

/** Makes the passwords, where the volumes have none yet, as the first service of docker-compose.yml does. */
async function makeSecrets({ signal, progress }: StackContext, compose: string, args: readonly string[]): Promise<void> {
  const title = `Making the passwords of Redis and MongoDB (${composeImage('secrets')})`;
  try {
    await progress.step(title, ({ update }) =>
      runCommand(compose, [...args, 'run', '--rm', '--no-deps', '-T', 'secrets'], { signal, cwd: checkoutDir, onLine: update }),
    );
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new StepError(
      title,
      error.message,
      'see that the engine runs and that images can be pulled, or set REDIS_URL and MONGODB_URL',
      error,
    );
  }
}

/**
 * A server of docker-compose.yml, by Docker Compose itself and as it is described there, with its port published on loopback. Compose stays our
 * child in the foreground; its containers and volumes stay for the next start.
 */
export async function startComposeServer(
  context: StackContext,
  [compose = '', ...before]: readonly string[],
  name: ComposeServer,
  options: ServerOptions,
): Promise<StackServer> {
  const { signal, dataDir } = context;
  const { portVariable, passwordFile, urlAt } = reached[name];
  const port = await findFreePort(options.preferredPort);
  const project = projectOf(dataDir);
  const args = [...before, '--project-name', project, '--file', 'docker-compose.yml', '--file', 'deploy/npm-start.yml'];
  const env = { ...process.env, [portVariable]: String(port) };
  const inside = (command: readonly string[]) =>
    runCommand(compose, [...args, 'exec', '-T', name, ...command], { signal, cwd: checkoutDir, env, timeoutMs: 15_000 });
  // Networks and volumes of the two servers are the same: one at a time makes them.
  await withLock(project, () => makeSecrets(context, compose, args), { signal });

  const server = createManagedProcess({
    name: `${name} (docker compose)`,
    command: compose,
    args: [...args, 'up', '--no-deps', '--no-color', '--no-log-prefix', name],
    cwd: checkoutDir,
    env,
    logFile: join(dataDir, 'logs', `${name}.log`),
    stopSignal: 'SIGINT',
    checkReady: async () => {
      await inside(composeHealthCheck(name));
      await expectConnection(port);
    },
  });
  await server.start(signal);
  const url = urlAt(port, (await inside(['cat', passwordFile])).trim());
  writeFileSync(join(dataDir, `${name}-url`), `${url}\n`, { mode: 0o600 });
  const control = (verb: string) => runCommand(compose, [...args, verb, name], { cwd: checkoutDir, env }).then(() => undefined);
  return {
    ...server,
    start: () => server.start(),
    kill: async () => {
      await control('kill');
      await server.kill();
    },
    pause: () => control('pause'),
    resume: () => control('unpause'),
    url,
    port,
    source: `${composeImage(name)} of docker-compose.yml, because a container engine answers`,
  };
}
