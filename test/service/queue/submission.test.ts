import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { asker, openQueueLab } from '../../support/queue-lab.ts';
import { startPrivateRedis } from '../../support/servers.ts';
import { stampItem } from '../../support/stamp-items.ts';

const some = (count: number) => Array.from({ length: count }, stampItem);
test('L1, W8: requests leave together, in jobs of at most 64 whose ids sort like their items', async () => {
  const { openApiEnd, stamps } = await openQueueLab();
  const { submission } = await openApiEnd(1_000);
  const requests = [some(150), some(1), some(60)];
  await Promise.all(requests.map((items) => submission.submit(items, asker())));
  const jobs = await eventually(async () => {
    const waiting = await stamps.getJobs(['wait'], 0, -1, true);
    return waiting.length === 4 && waiting;
  });
  expect(jobs.map(({ data }) => data.items.length)).toEqual([64, 64, 64, 19]);
  expect(jobs.map(({ id }) => id)).toEqual(jobs.map(({ id }) => id).toSorted());
  expect(jobs.flatMap(({ data }) => data.items)).toEqual(requests.flat());
});

test('E10: the depth is the number of jobs times their mean size; the oldest job is reported; above the limit no job is accepted', async () => {
  const { openApiEnd, add, stamps, redis } = await openQueueLab();
  const { watch, submission } = await openApiEnd(12);
  expect(await watch.read()).toEqual({ waiting: 0, oldestAt: null, failedJobs: 0 });
  for (const [callerId, items] of [
    ['product:a', some(3)],
    ['product:b', some(5)],
  ] as const) {
    await submission.submit(items, asker(callerId));
  }
  const [oldest] = await stamps.getJobs(['wait'], 0, 0, true);
  const oldestAt = oldest!.timestamp;
  await add('of another process');
  await eventually(async () => watch.depth() === 12);
  expect(await watch.read()).toEqual({ waiting: 12, oldestAt, failedJobs: 0 });
  expect(() => submission.checkCapacity('product:c', 1)).toThrow(expect.objectContaining({ code: 'overloaded', retryAfterSeconds: 5 }));
  await expect(submission.submit(some(1), asker('product:c'))).rejects.toMatchObject({ code: 'overloaded' });
  // A job that a worker has taken no longer waits.
  await redis.lmove(stamps.toKey('wait'), stamps.toKey('active'), 'RIGHT', 'LEFT');
  await eventually(async () => watch.depth() === 8);
  expect(() => submission.checkCapacity('product:c', 4)).not.toThrow();
  expect(() => submission.checkCapacity('product:c', 5)).toThrow();
});

test('E11: given-up jobs of every kind are counted', async () => {
  const { openApiEnd, add, consume, untilRetried } = await openQueueLab();
  const { watch } = await openApiEnd(12);
  consume(async () => {
    throw new Error('a broken invariant');
  });
  for (const id of ['a', 'b']) await add(id);
  await untilRetried(async () => (await watch.read()).failedJobs === 2);
  expect(await watch.read()).toEqual({ waiting: 0, oldestAt: null, failedJobs: 2 });
});

test('E10: a request that Redis refuses leaves no trace; while Redis is silent nothing is accepted', async () => {
  const server = await startPrivateRedis();
  onTestFinished(server.dispose);
  const { openApiEnd, stamps, redis } = await openQueueLab(server.url);
  const { watch, submission } = await openApiEnd(1_000);
  await redis.config('SET', 'maxmemory', '1');
  const refused = { code: 'queue_unavailable', retryAfterSeconds: 2 };
  await expect(submission.submit(some(100), asker())).rejects.toMatchObject(refused);
  expect(() => submission.checkCapacity('product:test', 500)).not.toThrow();
  await redis.config('SET', 'maxmemory', '0');
  expect(await stamps.getWaitingCount()).toBe(0);

  await server.pause();
  onTestFinished(server.resume);
  await eventually(async () => watch.isSilent());
  await expect(submission.submit(some(1), asker())).rejects.toMatchObject(refused);
  await server.resume();
  await eventually(async () => !watch.isSilent());
  const [outcome] = await submission.submit(some(1), { ...asker(), patienceMs: 0 });
  expect(await outcome).toEqual({ state: 'accepted' });
});
