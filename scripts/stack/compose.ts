import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { parse } from 'yaml';
import { checkoutDir, type StackContext } from './context.ts';
import { findFreePort, isPortFree } from './ports.ts';
import { StepError } from './progress.ts';
import { redisSettings } from './redis.ts';
import { CommandError, findProgram, findVersion, runCommand, runToEnd } from './run.ts';
import { createServerProcess, type ServerOptions, type StackServer } from './server-process.ts';

/** A server in docker-compose.yml. */
export type ComposeServer = 'redis' | 'mongodb';

/** The commands in the containers of tests. The containers of compose use the same commands, with passwords added. */
export const containerCommands = {
  redis: ['redis-server', ...redisSettings],
  mongodb: ['mongod', '--replSet', 'rs0', '--bind_ip_all'],
} as const satisfies Record<ComposeServer, readonly string[]>;

interface ComposeService {
  readonly image?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
}

function readService(name: string): ComposeService {
  const file = readFileSync(join(checkoutDir, 'docker-compose.yml'), 'utf8');
  const { services }: { services: Record<string, ComposeService | undefined> } = parse(file, { merge: true });
  return services[name] ?? {};
}

/** The image of a service in docker-compose.yml. */
export function composeImage(service: string): string {
  const { image } = readService(service);
  if (!image) throw new Error(`docker-compose.yml has no image for ${service}`);
  return image;
}

/** The command of a service's health check in docker-compose.yml, which runs inside its container. */
export const composeHealthCheck = (service: ComposeServer): readonly string[] => readService(service).healthcheck?.test.slice(1) ?? [];

/**
 * Whether a Docker-compatible engine answers: Docker itself, or Podman's socket. `address` has the form of `DOCKER_HOST`; TLS and SSH are not
 * supported.
 */
export function answersAsEngine(address: string): Promise<boolean> {
  const { protocol, hostname, port, pathname } = new URL(address);
  if (!['unix:', 'tcp:'].includes(protocol) || process.env.DOCKER_TLS_VERIFY) return Promise.resolve(false);
  const connection = protocol === 'unix:' ? { socketPath: pathname } : { host: hostname, port: port || '2375' };
  return new Promise((resolve) => {
    // Without `agent: false`, a kept connection could answer for an engine that has ended.
    request({ ...connection, agent: false, path: '/_ping', signal: AbortSignal.timeout(5_000) })
      .once('response', (response) => resolve(response.resume().statusCode === 200))
      .once('error', () => resolve(false))
      .end();
  });
}

/** Where engines listen: Docker, rootless Docker, Docker Desktop, Colima, OrbStack, Rancher Desktop, and Podman of a user and of root. */
function usualSockets(): string[] {
  const { HOME = '', XDG_RUNTIME_DIR = `/run/user/${process.getuid?.()}` } = process.env;
  const ofUser = ['.docker/run', '.docker/desktop', '.colima/default', '.orbstack/run', '.rd'].map(
    (folder) => `${HOME}/${folder}/docker.sock`,
  );
  const ofPodman = [`${XDG_RUNTIME_DIR}/podman/podman.sock`, '/run/podman/podman.sock'];
  return ['/var/run/docker.sock', `${XDG_RUNTIME_DIR}/docker.sock`, ...ofUser, ...ofPodman].filter((path) => existsSync(path));
}

/** Where the chosen context of the Docker client has its engine; undefined if there is no such client. */
async function contextAddress(): Promise<string | undefined> {
  if (findProgram('docker') === undefined) return undefined;
  const { code, stdout } = await runToEnd('docker', ['context', 'inspect', '--format', '{{.Endpoints.docker.Host}}']);
  return code === 0 && URL.canParse(stdout.trim()) ? stdout.trim() : undefined;
}

/** Why no engine answers, and how to use one, if a program for containers is installed. */
function describeSilence(sockets: readonly string[]): string | undefined {
  const closed = sockets.find((path) => !mayWrite(path));
  if (closed) return `containers are not used: you may not open ${closed} (join its group, or start rootless Docker)`;
  if (findProgram('docker')) return 'containers are not used: Docker is installed, but its engine does not answer';
  return findProgram('podman') && 'containers are not used: the socket of Podman is off (systemctl --user start podman.socket)';
}

/** What was said already: each server asks for the engine again. */
const said = new WeakMap<StackContext['progress'], string>();

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether a container engine answers: at `DOCKER_HOST`, or if that is not set, where the Docker client or one of the usual sockets is. Then
 * `DOCKER_HOST` names it, for Docker Compose and testcontainers.
 */
export async function engineAnswers({ progress }: Pick<StackContext, 'progress'>): Promise<boolean> {
  const { DOCKER_HOST: named } = process.env;
  if (named) {
    const answers = await answersAsEngine(named);
    if (!answers) progress.say(`  no container engine answers at DOCKER_HOST=${named}`);
    return answers;
  }
  const sockets = usualSockets();
  const ofContext = await contextAddress();
  for (const address of [...(ofContext ? [ofContext] : []), ...sockets.map((path) => `unix://${path}`)]) {
    if (!(await answersAsEngine(address))) continue;
    process.env.DOCKER_HOST = address;
    return true;
  }
  const silence = describeSilence(sockets);
  if (silence && said.get(progress) !== silence) progress.say(`  ${silence}`);
  said.set(progress, silence ?? '');
  return false;
}

/** The first version that supports docker-compose.yml: `env_file` with `required`, `depends_on` with `required`. */
const oldestCompose = [2, 24] as const;

/** The command for Docker Compose; undefined if it is missing or too old. */
export async function findCompose(context: Pick<StackContext, 'signal'>): Promise<readonly string[] | undefined> {
  for (const command of [['docker', 'compose'], ['docker-compose']] as const) {
    if (findProgram(command[0]) === undefined) continue;
    const version = await findVersion(command[0], oldestCompose, context, [...command.slice(1), 'version', '--short']).catch((error) => {
      if (!(error instanceof CommandError)) throw error;
    });
    if (version?.usable) return command;
  }
  return undefined;
}

/**
 * The file with the name of our containers and volumes. It is stored with the other state, so that after the state was deleted a start uses new
 * volumes.
 */
const projectFile = (dataDir: string) => join(dataDir, 'compose-project');

/** The name of the containers and volumes of earlier starts; undefined if there are none. */
export const findProject = (dataDir: string): string | undefined =>
  existsSync(projectFile(dataDir)) ? readFileSync(projectFile(dataDir), 'utf8').trim() : undefined;

function projectOf(dataDir: string): string {
  const project = findProject(dataDir) ?? `qstamp-${randomBytes(6).toString('hex')}`;
  writeFileSync(projectFile(dataDir), `${project}\n`);
  return project;
}

/** The password file of the service inside the container. */
const passwordFiles = { redis: '/run/redis/password', mongodb: '/run/mongodb/service-password' } as const;
const urls = {
  redis: (port: number, password: string) => `redis://:${password}@127.0.0.1:${port}`,
  mongodb: (port: number, password: string) =>
    `mongodb://qstamp:${password}@127.0.0.1:${port}/qstamp?directConnection=true&authSource=admin`,
} as const;

/**
 * Runs a server of docker-compose.yml with Docker Compose, with its port published on the loopback address. Compose runs in the foreground as our
 * child. Its containers and volumes stay for the next start.
 *
 * @returns undefined if there is no engine, or no Docker Compose that supports our file
 * @throws StepError if the server does not start, or if earlier starts have data in volumes and there is no engine now
 */
export async function startComposeServer(
  context: StackContext,
  name: ComposeServer,
  options: ServerOptions,
): Promise<StackServer | undefined> {
  const { signal, dataDir, progress } = context;
  const isThere = await engineAnswers(context);
  const command = isThere ? await findCompose(context) : undefined;
  if (command === undefined) {
    const why = isThere
      ? `a container engine answers, but there is no Docker Compose ${oldestCompose.join('.')} or newer`
      : 'no container engine answers';
    const project = findProject(dataDir);
    if (project !== undefined) {
      throw new StepError(
        'Finding the data of earlier starts',
        `it is in volumes of a container engine (${project}_${name}), and ${why}`,
        'start the engine, or delete .local/compose-project to start without that data',
      );
    }
    if (isThere) progress.say(`  ${why}: continuing without containers`);
    return undefined;
  }
  const [program = '', ...before] = command;
  const port = await findFreePort(options.preferredPort);
  const args = [...before, '--project-name', projectOf(dataDir), '--file', 'docker-compose.yml', '--file', 'deploy/npm-start.yml'];
  const place = { cwd: checkoutDir, env: { ...process.env, [`START_${name.toUpperCase()}_PORT`]: String(port) } };
  const compose = (words: readonly string[], until?: AbortSignal) => runCommand(program, [...args, ...words], { ...place, signal: until });
  const control = async (verb: string) => void (await compose([verb, name]));
  const server = createServerProcess({
    name: `${name} (docker compose)`,
    command: program,
    args: [...args, 'up', '--no-deps', '--no-color', '--no-log-prefix', name],
    ...place,
    logFile: join(dataDir, 'logs', `${name}.log`),
    stopSignal: 'SIGINT',
    checkReady: async () => {
      await compose(['exec', '-T', name, ...composeHealthCheck(name)], signal);
      if (await isPortFree(port)) throw new Error(`nothing listens on port ${port}`);
    },
  });
  /** Also stops the container, because a killed Compose leaves it running. If the engine has ended, nothing more can be stopped. */
  const stop = async () => {
    await server.stop();
    await runToEnd(program, [...args, 'stop', name], place);
  };
  const title = `Starting ${name} (docker compose)`;
  const password = await progress.step(title, async () => {
    try {
      // This creates the passwords if the volumes have none yet.
      await compose(['run', '--rm', '--no-deps', '-T', 'secrets'], signal);
      await server.start(signal);
      return await compose(['exec', '-T', name, 'cat', passwordFiles[name]], signal);
    } catch (error) {
      await stop();
      signal.throwIfAborted();
      const remedy = 'check that the engine runs and that images can be pulled, or set REDIS_URL and MONGODB_URL';
      throw new StepError(title, (error as Error).message, remedy, error);
    }
  });
  const url = urls[name](port, password);
  writeFileSync(join(dataDir, `${name}-url`), `${url}\n`, { mode: 0o600 });
  return {
    ...server,
    stop,
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
