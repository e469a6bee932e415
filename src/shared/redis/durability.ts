import { type Redis, ReplyError } from 'ioredis';
import type { Durability } from '../domain/service-state.ts';
import type { Logger } from '../runtime/log.ts';

/** Returns a setting of Redis, or undefined if Redis does not show it: hosted Redis services often forbid CONFIG. */
async function readSetting(redis: Redis, name: string): Promise<string | undefined> {
  try {
    const [, value] = (await redis.config('GET', name)) as string[];
    return value;
  } catch (error) {
    if (error instanceof ReplyError) return undefined;
    throw error;
  }
}

const readInfo = async (redis: Redis, section: string, field: string): Promise<string | undefined> =>
  new RegExp(`^${field}:(\\S*)`, 'm').exec(await redis.info(section))?.[1];

/** Returns which accepted stamps survive a crash of this Redis, according to its settings (E11). */
export async function readDurability(redis: Redis): Promise<Durability> {
  const [appendOnly, sync, policy = await readInfo(redis, 'memory', 'maxmemory_policy')] = await Promise.all(
    ['appendonly', 'appendfsync', 'maxmemory-policy'].map((name) => readSetting(redis, name)),
  );
  const isLogged = appendOnly === undefined ? (await readInfo(redis, 'persistence', 'aof_enabled')) === '1' : appendOnly === 'yes';
  // A Redis that may evict any key when it is full guarantees nothing.
  if (!isLogged || sync === 'no' || policy?.startsWith('allkeys-')) return 'none';
  if (sync === undefined) return 'unknown';
  return sync === 'always' ? 'every_write' : 'every_second';
}

const warnings: Readonly<Record<Exclude<Durability, 'every_write'>, string>> = {
  every_second: 'Redis may lose the last second of accepted stamps in a crash: set appendfsync to always',
  none: 'Redis may lose accepted stamps: set appendonly to yes, appendfsync to always, maxmemory-policy to noeviction',
  unknown: 'Redis does not show its settings: it is not known whether accepted stamps survive a crash',
};

const withoutWaitaof =
  'REDIS_REPLICAS_ACK: this Redis is older than 7.2, so replicas confirm a job when they have received it, not when it is on disk';

/** Logs the durability of Redis each time the connection is ready, because it may be another server than before. */
export function watchDurability(redis: Redis, replicas: number, log: Logger): void {
  redis.on('ready', async () => {
    try {
      const durability = await readDurability(redis);
      if (durability === 'every_write') log.info({ durability }, 'Redis syncs every write');
      else log.warn({ durability, outcome: 'advice' }, warnings[durability]);
      const [waitaof] = replicas > 0 ? ((await redis.call('COMMAND', 'INFO', 'waitaof')) as unknown[]) : [true];
      if (!waitaof) log.warn({ outcome: 'advice' }, withoutWaitaof);
    } catch (error) {
      log.debug({ err: error }, 'the settings of Redis cannot be read');
    }
  });
}
