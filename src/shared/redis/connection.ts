import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from '../runtime/log.ts';

/** The prefix of all keys in Redis. The braces keep all keys in one slot of a Redis Cluster. */
export const keyPrefix = '{qstamp}';

/** Timeout of a command from a process that answers clients, in milliseconds: a hanging Redis must not block later requests (E10). */
export const producerTimeoutMs = 800;

function connect(
  url: string,
  log: Logger,
  role: string,
  options: Pick<RedisOptions, 'enableOfflineQueue' | 'maxRetriesPerRequest' | 'commandTimeout' | 'socketTimeout'>,
): Redis {
  const redis = new Redis(url, {
    connectionName: `qstamp-${role}`,
    connectTimeout: 2_000,
    retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 5), 1_000),
    ...options,
  });
  sendInOneWrite(redis);
  let down = false;
  redis.on('error', (error) => {
    if (!down) log.warn({ err: error, role }, 'Redis is not reachable; trying again');
    down = true;
  });
  redis.on('ready', () => {
    if (down) log.info({ role }, 'Redis is reachable again');
    down = false;
  });
  return redis;
}

/**
 * Sends all commands of the current callback in one write. Redis mostly reads small commands together, and then syncs its log only once for all of
 * them (`appendfsync always`). A duplicate of the connection does not send in one write.
 */
function sendInOneWrite(redis: Redis): void {
  const send = redis.sendCommand.bind(redis);
  let corked: typeof redis.stream | undefined;
  redis.sendCommand = (...given) => {
    const { stream } = redis;
    if (stream && stream !== corked) {
      stream.cork();
      corked = stream;
      process.nextTick(() => {
        corked = undefined;
        stream.uncork();
      });
    }
    return send(...given);
  };
}

/** Opens a connection for processes that answer clients. A command fails at once if Redis is down, and after 800 ms if Redis hangs. */
export function connectProducer(url: string, log: Logger): Redis {
  return connect(url, log, 'producer', { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: producerTimeoutMs });
}

/** Opens a connection for workers. Commands wait for Redis to come back instead of failing. */
export function connectWorker(url: string, log: Logger): Redis {
  return connect(url, log, 'worker', { maxRetriesPerRequest: null });
}

/** Opens a connection for one reader whose reads block up to `blockMs`. If Redis hangs longer, the connection counts as lost and is opened again. */
export function connectBlockingReader(url: string, log: Logger, blockMs: number): Redis {
  return connect(url, log, 'reply', { maxRetriesPerRequest: 0, enableOfflineQueue: false, socketTimeout: blockMs + 2_000 });
}

/** Writes a small value. Rejects if Redis is full or read-only. */
export const checkWrite = (redis: Redis): Promise<unknown> => redis.set(`${keyPrefix}:write-check`, '', 'EX', 60);

/** Resolves when the connection is ready, or after `withinMs`, so that a process can start while Redis is down. */
export async function untilReady(redis: Redis, withinMs = 2_000): Promise<void> {
  if (redis.status === 'ready') return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, withinMs);
  redis.once('ready', resolve);
  await promise;
  clearTimeout(timer);
  redis.off('ready', resolve);
}

/** Ends a connection in any state: with QUIT if Redis answers, otherwise by force. */
export async function disconnect(redis: Redis): Promise<void> {
  if (redis.status === 'ready') await Promise.race([redis.quit(), new Promise((resolve) => setTimeout(resolve, producerTimeoutMs))]);
  redis.disconnect();
}
