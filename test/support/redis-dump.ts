import { Redis } from 'ioredis';

/** Every key and value of a Redis database as one text. */
export async function dumpRedis(url: string): Promise<string> {
  const redis = new Redis(url);
  try {
    const readers: Record<string, (key: string) => Promise<unknown>> = {
      string: (key) => redis.get(key),
      hash: (key) => redis.hgetall(key),
      list: (key) => redis.lrange(key, 0, -1),
      set: (key) => redis.smembers(key),
      zset: (key) => redis.zrange(key, '0', '-1', 'WITHSCORES'),
      stream: (key) => redis.xrange(key, '-', '+'),
    };
    const lines: string[] = [];
    for (const key of await redis.keys('*')) {
      const type = await redis.type(key);
      if (type === 'none') continue;
      const read = readers[type];
      if (!read) throw new Error(`a key of type ${type}`);
      lines.push(`${key} ${JSON.stringify(await read(key))}`);
    }
    return lines.join('\n');
  } finally {
    redis.disconnect();
  }
}
