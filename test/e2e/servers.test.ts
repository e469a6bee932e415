import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isPortFree } from '../../scripts/stack/ports.ts';
import { freshMongoUrl, freshRedisUrl, type PrivateServer, startPrivateMongo, startPrivateRedis } from '../support/servers.ts';

const patienceMs = 500;

/** True when the answer does not come in `patienceMs` and comes once the server is resumed. */
async function hangsUntilResumed(server: PrivateServer, ask: () => Promise<unknown>): Promise<boolean> {
  await server.pause();
  const answer = ask();
  const first = await Promise.race([answer.then(() => 'answer'), new Promise((resolve) => setTimeout(resolve, patienceMs, 'silence'))]);
  await server.resume();
  await answer;
  return first === 'silence';
}

describe('a private Redis', () => {
  let server: PrivateServer;
  const withRedis = async <T>(run: (redis: Redis) => Promise<T>): Promise<T> => {
    const redis = new Redis(server.url);
    try {
      return await run(redis);
    } finally {
      redis.disconnect();
    }
  };
  beforeAll(async () => {
    server = await startPrivateRedis();
  });
  afterAll(() => server.dispose());

  test('keeps its data and refuses to evict', async () => {
    const [[, appendonly], [, appendfsync], [, policy]] = await withRedis(async (redis) => [
      (await redis.config('GET', 'appendonly')) as string[],
      (await redis.config('GET', 'appendfsync')) as string[],
      (await redis.config('GET', 'maxmemory-policy')) as string[],
    ]);
    expect({ appendonly, appendfsync, policy }).toEqual({ appendonly: 'yes', appendfsync: 'always', policy: 'noeviction' });
  });

  test('survives SIGKILL and an orderly stop with its data, on the same port', async () => {
    await withRedis((redis) => redis.set('kept', 'yes'));
    for (const end of [server.kill, server.stop]) {
      await end();
      expect(await isPortFree(server.port)).toBe(true);
      await server.start();
      expect(await withRedis((redis) => redis.get('kept'))).toBe('yes');
    }
  });

  test('keeps what is in the queue, and its log, for this user alone to read', async ({ skip }) => {
    skip(server.remove !== undefined, 'its files are inside its container');
    await withRedis((redis) => redis.set('kept', 'yes'));
    const paths = readdirSync(server.dataDir, { recursive: true, encoding: 'utf8' }).map((name) => join(server.dataDir, name));
    const files = paths.filter((path) => statSync(path).isFile());
    expect(files.length).toBeGreaterThan(1);
    for (const file of files) expect((statSync(file).mode & 0o777).toString(8), file).toBe('600');
  });

  test('hangs while it is paused', () =>
    withRedis(async (redis) => {
      await redis.ping();
      expect(await hangsUntilResumed(server, () => redis.ping())).toBe(true);
    }));
});

describe('a private MongoDB', () => {
  let server: Awaited<ReturnType<typeof startPrivateMongo>>;
  const withThings = async <T>(run: (client: MongoClient) => Promise<T>): Promise<T> => {
    const client = new MongoClient(server.url, { serverSelectionTimeoutMS: 2000 });
    try {
      return await run(client);
    } finally {
      await client.close();
    }
  };
  const count = () => withThings((client) => client.db('kept').collection('things').countDocuments({ kept: true }));
  beforeAll(async () => {
    server = await startPrivateMongo();
    await withThings((client) => client.db('kept').collection('things').insertOne({ kept: true }));
  });
  afterAll(() => server.dispose());

  test('survives SIGKILL and an orderly stop with its data, on the same port', async () => {
    for (const end of [server.kill, server.stop]) {
      await end();
      expect(await isPortFree(server.port)).toBe(true);
      await server.start();
      expect(await count()).toBe(1);
    }
  });

  test('hangs while it is paused', () =>
    withThings(async (client) => {
      await client.db('kept').command({ ping: 1 });
      expect(await hangsUntilResumed(server, () => client.db('kept').command({ ping: 1 }))).toBe(true);
    }));

  test('can lose its PostgreSQL alone, where it is DocumentDB', async () => {
    if (!('postgres' in server)) return;
    await server.postgres.kill();
    await expect(count()).rejects.toThrow();
    await server.postgres.start();
    await expect.poll(() => count().catch(() => 'not yet'), { timeout: 20_000 }).toBe(1);
  });
});

test('the shared servers give each test a database of its own', async () => {
  const urls = await Promise.all([freshRedisUrl(), freshRedisUrl(), freshRedisUrl()]);
  expect(new Set(urls).size).toBe(3);
  expect(freshMongoUrl()).not.toBe(freshMongoUrl());
  const redis = new Redis(urls[0] ?? '');
  expect(await redis.dbsize()).toBe(0);
  redis.disconnect();
});
