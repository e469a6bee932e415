import { pino } from 'pino';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { connectProducer, disconnect, untilReady } from '../../../src/shared/redis/connection.ts';
import { openProviderNotes } from '../../../src/shared/redis/provider-notes.ts';
import { freshRedisUrl } from '../../support/servers.ts';

const log = pino({ level: 'silent' });
const redis = connectProducer({ REDIS_URL: await freshRedisUrl() }, log);
await untilReady(redis);
afterAll(() => disconnect(redis));
beforeEach(() => redis.flushdb());
const key = '{qstamp}:provider:acme';

/** The breakers of two workers for the same provider. */
const breakersOfTwo = (longestPauseMs = 60_000) => {
  const open = () => openProviderNotes({ redis, log }).breakerOf('acme', longestPauseMs);
  return [open(), open()] as const;
};
const fail = async (breaker: ReturnType<typeof breakersOfTwo>[0], times: number) => {
  for (let failure = 0; failure < times; failure += 1) breaker.failed({});
  await breaker.refresh();
};
/** Lets the pause end. */
const endPause = async (...breakers: readonly ReturnType<typeof breakersOfTwo>[0][]) => {
  await redis.hset(key, 'askAt', 1);
  for (const breaker of breakers) await breaker.refresh();
};

test('after five failures in a row, of all workers together, nobody asks the provider', async () => {
  const [one, other] = breakersOfTwo();
  await fail(one, 3);
  await fail(other, 1);
  expect([await one.mayAsk(), await other.mayAsk()]).toEqual([true, true]);
  await fail(other, 1);
  await one.refresh();
  expect([await one.mayAsk(), await other.mayAsk(), one.isOpen()]).toEqual([false, false, true]);
});

test('a success ends the row, also that of another worker', async () => {
  const [one, other] = breakersOfTwo();
  await fail(one, 4);
  await other.refresh();
  other.succeeded();
  await fail(one, 4);
  expect(await one.mayAsk()).toBe(true);
});

test('after a pause one worker tries; its success closes the breaker of all, otherwise the pause doubles up to the longest', async () => {
  const [one, other] = breakersOfTwo();
  await fail(one, 5);
  const pauses = [Number(await redis.hget(key, 'pauseMs'))];
  expect(one.pauseLeftMs()).toBeGreaterThan(2_000);
  for (let turn = 0; turn < 5; turn += 1) {
    await endPause(one, other);
    const may = await Promise.all([one.mayAsk(), other.mayAsk(), one.mayAsk()]);
    expect(may.filter(Boolean)).toHaveLength(1);
    await fail(may[1] ? other : one, 1);
    pauses.push(Number(await redis.hget(key, 'pauseMs')));
  }
  expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  await endPause(one, other);
  expect(await other.mayAsk()).toBe(true);
  other.succeeded();
  await one.refresh();
  expect([one.isOpen(), await one.mayAsk(), await redis.exists(key)]).toEqual([false, true, 0]);
});

test('a provider that asks for a pause gets it at once, up to the longest', async () => {
  const [one, other] = breakersOfTwo(30_000);
  one.failed({ pauseMs: 3_600_000 });
  await one.refresh();
  await other.refresh();
  expect([await one.mayAsk(), await other.mayAsk()]).toEqual([false, false]);
  expect(other.pauseLeftMs()).toBeGreaterThan(20_000);
  expect(other.pauseLeftMs()).toBeLessThanOrEqual(30_000);
});

test('a worker whose clock is not that of Redis does not blame a provider for a wrong time; one with the right clock does', async () => {
  const [wrong, right] = breakersOfTwo();
  for (let token = 0; token < 10; token += 1) wrong.failed({ clockMs: Date.now() + 3_600_000 });
  await wrong.refresh();
  expect(await wrong.mayAsk()).toBe(true);
  for (let token = 0; token < 5; token += 1) right.failed({ clockMs: Date.now() });
  await right.refresh();
  expect(await right.mayAsk()).toBe(false);
});

test('a try that fails lets the pause begin again, and obeys a Retry-After', async () => {
  const [one] = breakersOfTwo(600_000);
  await fail(one, 5);
  await endPause(one);
  expect(await one.mayAsk()).toBe(true);
  one.failed({ pauseMs: 300_000 });
  await one.refresh();
  expect(one.pauseLeftMs()).toBeGreaterThan(290_000);
});
