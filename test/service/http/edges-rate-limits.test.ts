import { fastify } from 'fastify';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { registerErrorHandler } from '../../../src/api/http/errors.ts';
import { addressKey, createRateLimits, type RateLimit } from '../../../src/api/http/rate-limits.ts';
import { type PrivateServer, startPrivateRedis } from '../../support/servers.ts';

let server: PrivateServer;
const connections: Redis[] = [];

beforeAll(async () => {
  server = await startPrivateRedis();
});
afterEach(() => {
  for (const redis of connections.splice(0)) redis.disconnect();
});
afterAll(() => server.dispose());

/** One API process: its own connection to the shared Redis. A Redis that takes longer than `commandTimeout` counts as hanging (R4). */
async function startProcess(limit: Omit<RateLimit, 'key'>, key = addressKey, commandTimeout = 5_000) {
  const redis = new Redis(server.url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout, lazyConnect: true });
  redis.on('error', () => undefined);
  connections.push(redis);
  await redis.connect();
  const limited: string[] = [];
  const limits = createRateLimits(redis, (name) => limited.push(name), '{qstamp}:limit');
  const app = fastify({ trustProxy: '127.0.0.1' });
  registerErrorHandler(app);
  app.get('/', { onRequest: limits.by({ ...limit, key }) }, async () => ({}));
  const ask = (address = '192.0.2.1') => app.inject({ url: '/', headers: { 'x-forwarded-for': address } });
  const statuses = async (count: number, address?: string) =>
    (await Promise.all(Array.from({ length: count }, () => ask(address)))).map(({ statusCode }) => statusCode).sort();
  return { redis, limited, limits, ask, statuses };
}

let names = 0;
const fresh = (points: number, durationSeconds = 60) => ({ name: `test-${names++}`, points, durationSeconds });

test('R1: the limit is exact, and all processes share it; another limit counts separately', async () => {
  const limit = fresh(5);
  const [one, two, other] = await Promise.all([startProcess(limit), startProcess(limit), startProcess(fresh(1))]);
  const all = (await Promise.all([one.statuses(10), two.statuses(10)])).flat().sort();
  expect(all).toEqual([...Array(5).fill(200), ...Array(15).fill(429)]);
  expect(one.limited.length + two.limited.length).toBe(15);
  expect(await other.statuses(1)).toEqual([200]);
});

test('E7: answers show the remaining requests, and a refusal says when to retry', async () => {
  const limit = fresh(2, 3600);
  const { ask } = await startProcess(limit);
  const seconds = expect.stringMatching(/^3\d{3}$/);
  for (const remaining of ['1', '0', '-']) {
    const status = remaining === '-' ? 429 : 200;
    const { statusCode, headers, body } = await ask();
    const shown = { 'ratelimit-limit': '2', 'ratelimit-remaining': remaining.replace('-', '0'), 'ratelimit-reset': seconds };
    expect([statusCode, headers]).toMatchObject([status, shown]);
    expect(headers['ratelimit-policy']).toBe(`"${limit.name}";q=2;w=3600`);
    expect(headers.ratelimit).toBe(`"${limit.name}";r=${shown['ratelimit-remaining']};t=${headers['ratelimit-reset']}`);
    expect(headers['retry-after']).toBe(status === 429 ? headers['ratelimit-reset'] : undefined);
    const refusal = { detail: expect.any(String), code: 'rate_limited', request_id: expect.any(String) };
    expect(JSON.parse(body)).toEqual(status === 429 ? refusal : {});
  }
});

test('R1: after a window ends, the next one has the full limit', async () => {
  const { ask, statuses } = await startProcess(fresh(2, 1));
  expect(await statuses(3)).toEqual([200, 200, 429]);
  await expect.poll(async () => (await ask()).statusCode).toBe(200);
});

test('R1: addresses are counted separately, IPv6 by /56, mapped IPv4 as IPv4', async () => {
  const { ask } = await startProcess(fresh(1));
  const known = ['192.0.2.1', '192.0.2.2', '2001:db8::1', '2001:db8:0:100::1'];
  for (const address of known) expect((await ask(address)).statusCode, address).toBe(200);
  const same = ['::ffff:192.0.2.1', '::ffff:192.0.2.2', '2001:db8::2:1', '2001:db8:0:1::1', '2001:db8:0:1ff::1'];
  for (const address of same) expect((await ask(address)).statusCode, address).toBe(429);
});

test('0 turns a limit off: no counting and no headers', async () => {
  const { ask, statuses } = await startProcess(fresh(0));
  expect(new Set(await statuses(50))).toEqual(new Set([200]));
  expect((await ask()).headers).not.toHaveProperty('ratelimit-limit');
});

test('W6, R4: tries are taken and given back, by all processes together, and in memory while Redis is away', async () => {
  const limit = fresh(2);
  const processes = await Promise.all([startProcess(fresh(1)), startProcess(fresh(1))]);
  const [one, two] = processes.map(({ limits }) => limits.tries(limit));
  expect([await one!.left('a'), await one!.take('a'), await two!.take('a'), await one!.take('a')]).toEqual([2, 1, 0, -1]);
  expect([await two!.left('a'), await two!.left('b')]).toEqual([0, 2]);
  for (let count = 0; count < 2; count += 1) await two!.giveBack('a');
  expect(await one!.left('a')).toBe(1);
  for (const { redis } of processes) redis.disconnect();
  expect([await one!.take('a'), await one!.take('a'), await one!.take('a'), await one!.left('a')]).toEqual([1, 0, -1, 0]);
});

test('W10: a key contains no address and no e-mail', async () => {
  const { ask, redis } = await startProcess(fresh(5), () => 'jane@example.com');
  await ask('192.0.2.77');
  const keys = await redis.keys('*');
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.join()).not.toMatch(/jane|example|192\.0\.2|2001/);
});

test('R4: if Redis is away or hangs, each process still limits; they count together again after it is back', async () => {
  const { redis, statuses } = await startProcess(fresh(3), addressKey, 300);
  await server.pause();
  expect(await statuses(5)).toEqual([200, 200, 200, 429, 429]);
  await server.resume();
  await server.kill();
  await expect.poll(() => redis.status).not.toBe('ready');
  expect(await statuses(2)).toEqual([429, 429]);
  await server.start();
  await expect.poll(() => redis.status).toBe('ready');
  expect(await statuses(5, '192.0.2.9')).toEqual([200, 200, 200, 429, 429]);
});
