import { type Redis, ReplyError } from 'ioredis';
import type { Durability } from '../domain/service-state.ts';
import type { Logger } from '../runtime/log.ts';

/** A setting of Redis, or undefined where it is not told: who hosts a Redis often forbids CONFIG. */
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

/** What becomes of accepted stamps when this Redis crashes, as far as its settings tell (E11). */
export async function readDurability(redis: Redis): Promise<Durability> {
  const [appendOnly, sync, policy = await readInfo(redis, 'memory', 'maxmemory_policy')] = await Promise.all(
    ['appendonly', 'appendfsync', 'maxmemory-policy'].map((name) => readSetting(redis, name)),
  );
  const isLogged = appendOnly === undefined ? (await readInfo(redis, 'persistence', 'aof_enabled')) === '1' : appendOnly === 'yes';
  // A Redis that may drop any key when it is full keeps no promise at all.
  if (!isLogged || sync === 'no' || policy?.startsWith('allkeys-')) return 'none';
  if (sync === undefined) return 'unknown';
  return sync === 'always' ? 'every_write' : 'every_second';
}

const warnings: Readonly<Record<Exclude<Durability, 'every_write'>, string>> = {
  every_second: 'redis may lose the last second of accepted stamps in a crash: set appendfsync to always',
  none: 'redis may lose accepted stamps: set appendonly to yes, appendfsync to always, maxmemory-policy to noeviction',
  unknown: 'redis does not tell its settings: whether accepted stamps survive its crash is not known',
};

/** Logs which promise Redis can keep, whenever it is connected to: the next one may be another. */
export function watchDurability(redis: Redis, log: Logger): void {
  redis.on('ready', async () => {
    try {
      const durability = await readDurability(redis);
      if (durability === 'every_write') log.info({ durability }, 'redis keeps what was accepted');
      else log.warn({ durability, outcome: 'advice' }, warnings[durability]);
    } catch (error) {
      log.debug({ err: error }, 'the settings of redis cannot be read');
    }
  });
}
