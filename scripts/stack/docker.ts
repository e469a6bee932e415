import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { findProgram } from './administrator.ts';
import { checkoutDir, type StackContext } from './context.ts';
import { createManagedProcess } from './managed-process.ts';
import { initiateReplicaSet } from './mongo-ready.ts';
import { findFreePort } from './ports.ts';
import { pingRedis, redisSettings } from './redis-binary.ts';
import { CommandError, runCommand } from './run-command.ts';
import type { ServerOptions, StackServer } from './server.ts';

const answerMs = 5_000;

/** True when a Docker engine (not only its client) is there for us. */
export async function dockerAnswers({ signal }: StackContext): Promise<boolean> {
  if (findProgram('docker') === undefined) return false;
  try {
    await runCommand('docker', ['version', '--format', '{{.Server.Version}}'], { signal, timeoutMs: answerMs });
    return true;
  } catch (error) {
    if (error instanceof CommandError) return false;
    throw error;
  }
}

/** The image that docker-compose.yml gives a service. */
export function composeImage(service: string): string {
  const compose: { services: Record<string, { image?: string } | undefined> } = parse(
    readFileSync(join(checkoutDir, 'docker-compose.yml'), 'utf8'),
  );
  const image = compose.services[service]?.image;
  if (!image) throw new Error(`docker-compose.yml names no image for ${service}`);
  return image;
}

/** What the containers of `npm start` and of compose run. */
export const containerCommands = {
  redis: ['redis-server', ...redisSettings],
  mongodb: ['mongod', '--replSet', 'rs0', '--bind_ip_all'],
} as const;

interface Container {
  readonly name: 'redis' | 'mongodb';
  readonly containerPort: number;
  readonly dataPath: string;
  readonly command: readonly string[];
  readonly checkReady: (port: number) => Promise<void>;
}

/** Runs a container in the foreground as our child: its client passes signals on, and `--rm` leaves nothing but the data. */
async function startContainer(context: StackContext, container: Container, options: ServerOptions) {
  const { signal, progress, dataDir } = context;
  const image = composeImage(container.name);
  const folder = join(dataDir, `docker-${container.name}`);
  const name = `qstamp-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}-${container.name}`;
  mkdirSync(folder, { recursive: true });
  await progress.step(`Fetching the image ${image} (docker pull)`, async ({ update }) => {
    const present = await runCommand('docker', ['image', 'ls', '--quiet', image], { signal });
    if (present === '') await runCommand('docker', ['pull', image], { signal, onLine: update });
  });
  const port = await findFreePort(options.preferredPort);
  const docker = createManagedProcess({
    name: `${container.name} (Docker)`,
    command: 'docker',
    args: [
      ...['run', '--rm', '--name', name, '--publish', `127.0.0.1:${port}:${container.containerPort}`],
      ...['--user', `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`, '--volume', `${folder}:${container.dataPath}`],
      ...[image, ...container.command],
    ],
    logFile: join(dataDir, 'logs', `${container.name}.log`),
    stopSignal: 'SIGTERM',
    checkReady: () => container.checkReady(port),
  });
  const removeLeftover = () => runCommand('docker', ['rm', '--force', name]);
  await removeLeftover();
  await docker.start(signal);
  const control = (verb: string) => void runCommand('docker', [verb, name]);
  return {
    ...docker,
    start: async () => {
      await removeLeftover();
      await docker.start(signal);
    },
    kill: async () => {
      await docker.kill();
      await removeLeftover();
    },
    pause: () => control('pause'),
    resume: () => control('unpause'),
    port,
    source: `the image ${image}, because a Docker engine answers`,
  };
}

/** Redis from compose's image. */
export async function startRedisContainer(context: StackContext, options: ServerOptions): Promise<StackServer> {
  const container: Container = {
    name: 'redis',
    containerPort: 6379,
    dataPath: '/data',
    command: containerCommands.redis,
    checkReady: pingRedis,
  };
  const server = await startContainer(context, container, options);
  return { ...server, url: `redis://127.0.0.1:${server.port}` };
}

/** MongoDB from compose's image, as a one-node replica set. */
export async function startMongoContainer(context: StackContext, options: ServerOptions): Promise<StackServer> {
  const container: Container = {
    name: 'mongodb',
    containerPort: 27017,
    dataPath: '/data/db',
    command: containerCommands.mongodb,
    checkReady: (port) => initiateReplicaSet(port, 'localhost:27017'),
  };
  const server = await startContainer(context, container, options);
  return { ...server, url: `mongodb://127.0.0.1:${server.port}/?directConnection=true` };
}
