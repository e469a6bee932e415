import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ComposeServer, composeHealthCheck, composeImage } from './compose-file.ts';
import { checkoutDir, type StackContext } from './context.ts';
import { blameEngine, cleanUpUnlessLost, containerStepError } from './engine.ts';
import { withLock } from './lock.mjs';
import { createManagedProcess } from './managed-process.ts';
import { expectConnection, findFreePort } from './ports.ts';
import { CommandError, runCommand } from './run-command.ts';
import type { ServerOptions, StackServer } from './server.ts';

/** Longer than the `stop_grace_period` of docker-compose.yml. */
const controlMs = 30_000;

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

const projectFile = (dataDir: string) => join(dataDir, 'compose-project');

/** The name of the containers and volumes of earlier starts, where there were any. */
export const findProject = (dataDir: string): string | undefined =>
  existsSync(projectFile(dataDir)) ? readFileSync(projectFile(dataDir), 'utf8').trim() : undefined;

/** The name of our containers and volumes: kept beside the other state, so that who deletes that begins with fresh volumes too. */
function projectOf(dataDir: string): string {
  const found = findProject(dataDir);
  if (found) return found;
  const project = `qstamp-${randomBytes(6).toString('hex')}`;
  writeFileSync(projectFile(dataDir), `${project}\n`);
  return project;
}

/** Projects whose passwords this process has seen to. */
const withSecrets = new Set<string>();

/** Makes the passwords, where the volumes have none yet, as the first service of docker-compose.yml does. */
async function makeSecrets({ signal, progress }: StackContext, compose: string, args: readonly string[], project: string): Promise<void> {
  if (withSecrets.has(project)) return;
  const title = `Making the passwords of Redis and MongoDB (${composeImage('secrets')})`;
  try {
    await progress.step(title, ({ update }) =>
      runCommand(compose, [...args, 'run', '--rm', '--no-deps', '-T', 'secrets'], { signal, cwd: checkoutDir, onLine: update }),
    );
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw await containerStepError(
      title,
      error,
      'see that the engine runs and that images can be pulled, or set REDIS_URL and MONGODB_URL',
    );
  }
  withSecrets.add(project);
}

/**
 * A server of docker-compose.yml, by Docker Compose itself and as it is described there, with its port published on loopback. Compose stays our
 * child in the foreground; its containers and volumes stay for the next start.
 *
 * @throws StepError where it does not start; one line where the engine has gone.
 */
export async function startComposeServer(
  context: StackContext,
  [compose = '', ...before]: readonly string[],
  name: ComposeServer,
  options: ServerOptions,
): Promise<StackServer> {
  const { signal, dataDir, progress } = context;
  const { portVariable, passwordFile, urlAt } = reached[name];
  const port = await findFreePort(options.preferredPort);
  const project = projectOf(dataDir);
  const args = [...before, '--project-name', project, '--file', 'docker-compose.yml', '--file', 'deploy/npm-start.yml'];
  const env = { ...process.env, [portVariable]: String(port) };
  const inside = (command: readonly string[]) =>
    runCommand(compose, [...args, 'exec', '-T', name, ...command], { signal, cwd: checkoutDir, env, timeoutMs: 15_000 });
  const control = (verb: string) =>
    runCommand(compose, [...args, verb, name], { cwd: checkoutDir, env, timeoutMs: controlMs }).then(() => undefined);

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
  let hasEndedItself = false;
  server.onUnexpectedExit(() => {
    hasEndedItself = true;
  });
  /** For a Compose that is gone, which takes its container along only when it is asked to end. */
  const stopContainer = () => cleanUpUnlessLost(() => control('stop'), progress.say);
  const start = async () => {
    await makeSecrets(context, compose, args, project);
    try {
      await server.start(signal);
      return (await inside(['cat', passwordFile])).trim();
    } catch (error) {
      const failure = await containerStepError(`Starting ${name} (docker compose)`, error as Error, 'mend what it says and start again');
      await stopContainer();
      signal.throwIfAborted();
      throw failure;
    }
  };
  // Networks and volumes of the two servers are the same: one at a time makes them.
  const password = await withLock(project, start, { signal });
  const url = urlAt(port, password);
  writeFileSync(join(dataDir, `${name}-url`), `${url}\n`, { mode: 0o600 });
  return {
    ...server,
    start: () => {
      hasEndedItself = false;
      return server.start();
    },
    stop: async () => {
      await server.stop();
      if (hasEndedItself) await stopContainer();
    },
    kill: async () => {
      await control('kill');
      await server.kill();
    },
    pause: () => control('pause'),
    resume: () => control('unpause'),
    onUnexpectedExit: (listener) => server.onUnexpectedExit((report) => void blameEngine(report).then((blamed) => listener(blamed.report))),
    url,
    port,
    source: `${composeImage(name)} of docker-compose.yml, because a container engine answers`,
  };
}
