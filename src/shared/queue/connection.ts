import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from '../runtime/log.ts';

/** Every key of the service starts with it; the braces keep them in one slot of a Redis Cluster. */
export const keyPrefix = '{qstamp}';

/** How long a command of a producer may go unanswered: a Redis that hangs must not keep those who come after (E10). */
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
    if (!down) log.warn({ err: error, role }, 'redis is not reachable');
    down = true;
  });
  redis.on('ready', () => {
    if (down) log.info({ role }, 'redis is back');
    down = false;
  });
  return redis;
}

/**
 * Commands that are sent until the end of the present callback leave in one write. Redis mostly reads small ones at once, and then syncs once
 * for all (`appendfsync always`). Who duplicates the connection gets a plain one.
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

/** For whoever answers a client: fails at once when Redis is away, and after 800 ms when it hangs. */
export function connectProducer(url: string, log: Logger): Redis {
  return connect(url, log, 'producer', { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: producerTimeoutMs });
}

/** For workers, which wait for Redis to come back instead of failing. */
export function connectWorker(url: string, log: Logger): Redis {
  return connect(url, log, 'worker', { maxRetriesPerRequest: null });
}

/** For one reader that blocks up to `blockMs` at a time; a Redis that hangs longer counts as lost, and is dialled anew. */
export function connectBlockingReader(url: string, log: Logger, blockMs: number): Redis {
  return connect(url, log, 'reply', { maxRetriesPerRequest: 0, enableOfflineQueue: false, socketTimeout: blockMs + 2_000 });
}

/** Writes something small, which a Redis that is full or read-only refuses. */
export const checkWrite = (redis: Redis): Promise<unknown> => redis.set(`${keyPrefix}:write-check`, '', 'EX', 60);

/** Resolves when the connection is made, and after `withinMs` in any case: a process starts even while Redis is away. */
export async function untilReady(redis: Redis, withinMs = 2_000): Promise<void> {
  if (redis.status === 'ready') return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, withinMs);
  redis.once('ready', resolve);
  await promise;
  clearTimeout(timer);
  redis.off('ready', resolve);
}

/** Ends a connection whatever its state: politely when Redis answers, by force when not. */
export async function disconnect(redis: Redis): Promise<void> {
  if (redis.status === 'ready') await Promise.race([redis.quit(), new Promise((resolve) => setTimeout(resolve, producerTimeoutMs))]);
  redis.disconnect();
}
