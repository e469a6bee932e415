import { mkdirSync, symlinkSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { cached, recipeKey } from './cache.ts';
import type { StackContext } from './context.ts';
import { installPackages } from './debian.ts';
import { findFreePort } from './ports.ts';
import { StepError } from './progress.ts';
import { findProgram, findVersion } from './run.ts';
import { createServerProcess, type ServerOptions, type StackServer } from './server-process.ts';

/**
 * The settings of all our Redis servers, whether from a program, an image or compose: acknowledged data survives even a kill, and nothing is evicted.
 */
export const redisSettings = [
  ...['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''],
  ...['--maxmemory-policy', 'noeviction', '--databases', '512'],
] as const;

/** The first version with all commands that BullMQ needs. */
export const oldestRedis = [6, 2] as const;

/** Sends one PING. Rejects if the answer is not PONG, for example while Redis still loads its data. */
export function pingRedis(port: number, host = '127.0.0.1'): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host }, () => socket.write('PING\r\n'));
    socket.setTimeout(1000, () => socket.destroy(new Error('no answer to PING')));
    socket.once('data', (answer) => {
      if (answer.toString().startsWith('+PONG')) resolve();
      socket.destroy(new Error(answer.toString().trim()));
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('connection closed')));
  });
}

/** Starts `redis-server` as our child, only on the loopback address, with its data in `<dataDir>/redis`. */
export async function startRedisProgram(
  { dataDir, signal }: StackContext,
  program: string,
  source: string,
  options: ServerOptions,
): Promise<StackServer> {
  const folder = join(dataDir, 'redis');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const port = await findFreePort(options.preferredPort);
  const redis = createServerProcess({
    name: 'Redis',
    command: program,
    args: ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...redisSettings],
    env: { ...process.env, ...options.env },
    logFile: join(dataDir, 'logs', 'redis.log'),
    stopSignal: 'SIGTERM',
    checkReady: () => pingRedis(port),
  });
  await redis.start(signal);
  return { ...redis, url: `redis://127.0.0.1:${port}`, port, source };
}

/**
 * Gets Redis from Debian's packages without a system service. The package `redis-tools` contains the server program under another name, and the
 * program acts as a server if it is called `redis-server`. The package `redis-server` would add and start a service.
 */
export async function installRedis(context: StackContext): Promise<string> {
  if (findProgram('redis-check-rdb') === undefined) await installPackages(context, ['redis-tools']);
  const installed = findProgram('redis-check-rdb') ?? '/usr/bin/redis-check-rdb';
  const folder = await cached(context, 'redis', recipeKey(installed), async (place) => {
    symlinkSync(installed, join(place, 'redis-server'));
  });
  const program = join(folder, 'redis-server');
  const { text, usable } = await findVersion(program, oldestRedis, context);
  if (usable) return program;
  const remedy = 'start Docker or Podman, or set REDIS_URL to a newer Redis';
  throw new StepError('Installing Redis', `the packages of this system have Redis ${text}; ${oldestRedis.join('.')} is needed`, remedy);
}
