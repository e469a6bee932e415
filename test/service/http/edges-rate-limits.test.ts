import { type FastifyInstance, fastify } from 'fastify';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { registerErrorHandler } from '../../../src/api/server/errors.ts';
import { addressKey, createRateLimits, type RateLimit } from '../../../src/api/server/rate-limits.ts';
import { type PrivateServer, startPrivateRedis } from '../../support/servers.ts';

let server: PrivateServer;
const connections: Redis[] = [];

beforeAll(async () => {
  server = await startPrivateRedis();
});
afterEach(() => {
  for (const redis of connections.splice(0)) redis.disconnect();
});
afterAll(async () => {
  await server.dispose();
});

let names = 0;

/** One API process: its own connection to the shared Redis. */
async function startProcess(
  limit: Omit<RateLimit, 'key'>,
  key = addressKey,
  // Long enough for a busy machine: a Redis that takes longer counts as hanging (R4).
  commandTimeout = 5_000,
): Promise<{ app: FastifyInstance; redis: Redis; limited: string[] }> {
  const redis = new Redis(server.url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout, lazyConnect: true });
  redis.on('error', () => undefined);
  connections.push(redis);
  await redis.connect();
  const limited: string[] = [];
  const limits = createRateLimits({ redis, onLimited: (name) => limited.push(name) });
  const app = fastify({ trustProxy: '127.0.0.1' });
  registerErrorHandler(app);
  app.get('/', { onRequest: limits.by({ ...limit, key }) }, async () => ({}));
  return { app, redis, limited };
}

const fresh = (points: number, durationSeconds = 60) => ({ name: `test-${names++}`, points, durationSeconds });
const from = (address: string) => ({ url: '/', headers: { 'x-forwarded-for': address } });

async function statuses(app: FastifyInstance, count: number, address = '192.0.2.1'): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => app.inject(from(address))));
  return answers.map(({ statusCode }) => statusCode).sort();
}

test('R1: the limit is exact, and all processes share it', async () => {
  const limit = fresh(5);
  const [one, two] = await Promise.all([startProcess(limit), startProcess(limit)]);
  const all = (await Promise.all([statuses(one.app, 10), statuses(two.app, 10)])).flat();
  expect(all.filter((status) => status === 200)).toHaveLength(5);
  expect(all.filter((status) => status === 429)).toHaveLength(15);
  expect(one.limited.length + two.limited.length).toBe(15);
});

test('E7: answers show the remaining requests, and a refusal says when to retry', async () => {
  const { app } = await startProcess(fresh(2, 3600));
  const headersOf = async () => {
    const { statusCode, headers } = await app.inject(from('192.0.2.1'));
    return [
      statusCode,
      headers['ratelimit-limit'],
      headers['ratelimit-remaining'],
      Number(headers['ratelimit-reset']) > 3000,
      headers['retry-after'],
    ];
  };
  expect(await headersOf()).toEqual([200, '2', '1', true, undefined]);
  expect(await headersOf()).toEqual([200, '2', '0', true, undefined]);
  expect(await headersOf()).toEqual([429, '2', '0', true, expect.stringMatching(/^3\d{3}$/)]);
  const refused = await app.inject(from('192.0.2.1'));
  expect(refused.headers['retry-after']).toBe(refused.headers['ratelimit-reset']);
  expect(refused.json()).toEqual({ detail: expect.any(String), code: 'rate_limited', request_id: expect.any(String) });
});

test('R1: after a window ends, the next one has the full limit', async () => {
  const { app } = await startProcess(fresh(2, 1));
  expect(await statuses(app, 3)).toEqual([200, 200, 429]);
  await expect.poll(async () => (await app.inject(from('192.0.2.1'))).statusCode, { timeout: 5000 }).toBe(200);
});

test('R1: addresses are counted separately, IPv6 by /56, mapped IPv4 as IPv4', async () => {
  const { app } = await startProcess(fresh(1));
  const status = async (address: string) => (await app.inject(from(address))).statusCode;
  expect([await status('192.0.2.1'), await status('::ffff:192.0.2.1'), await status('192.0.2.2')]).toEqual([200, 429, 200]);
  expect([
    await status('2001:db8::1'),
    await status('2001:db8::2:1'),
    await status('2001:db8:0:1::1'),
    await status('2001:db8:0:100::1'),
  ]).toEqual([200, 429, 429, 200]);
});

test('R1: limits with different names are counted separately', async () => {
  const [one, two] = await Promise.all([startProcess(fresh(1)), startProcess(fresh(1))]);
  expect([await statuses(one.app, 1), await statuses(two.app, 1)]).toEqual([[200], [200]]);
});

test('0 turns a limit off: no counting and no headers', async () => {
  const { app } = await startProcess(fresh(0));
  expect(new Set(await statuses(app, 50))).toEqual(new Set([200]));
  expect((await app.inject('/')).headers).not.toHaveProperty('ratelimit-limit');
});

test('W6, R4: tries are taken and given back, by all processes together, and in memory while Redis is away', async () => {
  const limit = fresh(2);
  const processes = await Promise.all([startProcess(fresh(1)), startProcess(fresh(1))]);
  const [one, two] = processes.map(({ redis }) => createRateLimits({ redis }).tries(limit));
  expect([await one!.left('a'), await one!.take('a'), await two!.take('a'), await one!.take('a')]).toEqual([2, 1, 0, -1]);
  expect([await two!.left('a'), await two!.left('b')]).toEqual([0, 2]);
  for (let count = 0; count < 2; count += 1) await two!.giveBack('a');
  expect(await one!.left('a')).toBe(1);
  for (const { redis } of processes) redis.disconnect();
  expect([await one!.take('a'), await one!.take('a'), await one!.take('a'), await one!.left('a')]).toEqual([1, 0, -1, 0]);
});

test('W10: a key contains no address and no e-mail', async () => {
  const { app, redis } = await startProcess(fresh(5), () => 'jane@example.com');
  await app.inject(from('192.0.2.77'));
  const keys = await redis.keys('*');
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.join()).not.toMatch(/jane|example|192\.0\.2|2001/);
});

test('R4: if Redis is away or hangs, each process still limits; they count together again after it is back', async () => {
  const limit = fresh(3);
  const { app, redis } = await startProcess(limit, addressKey, 300);
  await server.pause();
  expect(await statuses(app, 5)).toEqual([200, 200, 200, 429, 429]);
  await server.resume();
  await server.kill();
  await expect.poll(() => redis.status).not.toBe('ready');
  expect(await statuses(app, 2)).toEqual([429, 429]);
  await server.start();
  await expect.poll(() => redis.status, { timeout: 10_000 }).toBe('ready');
  expect(await statuses(app, 5, '192.0.2.9')).toEqual([200, 200, 200, 429, 429]);
});
