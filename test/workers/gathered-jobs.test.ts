import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { untilReady } from '../../src/shared/queue/connection.ts';
import { stampJobSchema } from '../../src/shared/queue/sent-job.ts';
import type { StampItem } from '../../src/shared/queue/stamp-job.ts';
import { createStampQueue } from '../../src/shared/queue/stamp-queue.ts';
import { eventually } from '../support/requests.ts';
import { startPrivateRedis } from '../support/servers.ts';
import { stampItem } from '../support/stamp-items.ts';

const maxDepth = 100_000;
const waitKey = '{qstamp}:stamps:wait';

async function openQueue() {
  const server = await startPrivateRedis();
  onTestFinished(server.dispose);
  const redis = new Redis(server.url);
  onTestFinished(() => redis.disconnect());
  await untilReady(redis);
  const queue = createStampQueue({ redis, replyTo: 'nobody', maxDepth, log: pino({ level: 'silent' }) });
  onTestFinished(() => queue.close());
  return {
    redis,
    /** Whether there is room for so many more. */
    capacity: (items: number): boolean => {
      try {
        queue.checkCapacity(items);
        return true;
      } catch {
        return false;
      }
    },
    /** A request of so many items, all of which end together. */
    ask: (items: readonly StampItem[]) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const accepted = queue.acceptAll(
        items,
        () => true,
        items.map(() => promise),
      );
      return { accepted, end: resolve };
    },
    /** The items of each job, in the order in which the jobs were sent. */
    jobs: async (): Promise<string[][]> => {
      const ids = (await redis.lrange(waitKey, 0, -1)).reverse();
      expect(ids.toSorted(), 'W8: ids sort as jobs were sent').toEqual(ids);
      return Promise.all(
        ids.map(async (id) => {
          const { items } = stampJobSchema.parse(JSON.parse((await redis.hget(`{qstamp}:stamps:${id}`, 'data')) ?? ''));
          return items.map(({ tokenId }) => tokenId);
        }),
      );
    },
  };
}

const some = (count: number): StampItem[] => Array.from({ length: count }, () => stampItem());
const idsOf = (items: readonly StampItem[]): string[] => items.map(({ tokenId }) => tokenId);

test('L1, W8: a request alone leaves in jobs of 64; what comes while three jobs are under way gathers, up to 256 in a job', async () => {
  const { ask, jobs, redis } = await openQueue();
  const first = [some(64), some(10), some(64)];
  const asked = first.map((items) => ask(items));
  await Promise.all(asked.map(({ accepted }) => accepted));
  expect(await jobs()).toEqual(first.map(idsOf));

  const gathered = [some(64), some(100), some(64), some(60)];
  const later = gathered.map((items) => ask(items));
  // Once Redis has answered, they have found no room.
  await redis.ping();
  asked[1]!.end();
  await Promise.all(later.map(({ accepted }) => accepted));
  const [, , , together, ...rest] = await jobs();
  const ids = gathered.flatMap(idsOf);
  expect(together).toEqual(ids.slice(0, 228));
  expect(rest.flat()).toEqual(ids.slice(228));
});

test('W19: what only a qualified provider may make does not gather with the rest', async () => {
  const { ask, jobs } = await openQueue();
  const qualified = some(5).map((item) => ({ ...item, requiresQualified: true }));
  const rest = [some(7), some(8)];
  await Promise.all([rest[0]!, qualified, rest[1]!].map((items) => ask(items).accepted));
  expect((await jobs()).toSorted((a, b) => a.length - b.length)).toEqual([qualified, rest.flat()].map(idsOf));
});

test('E10, L1: what Redis refuses leaves no trace, takes no room, and is 503', async () => {
  const { ask, jobs, redis, capacity } = await openQueue();
  await ask(some(100)).accepted;
  await redis.config('SET', 'maxmemory', '1');
  await expect(ask(some(200)).accepted).rejects.toMatchObject({ code: 'queue_unavailable' });
  await redis.config('SET', 'maxmemory', '0');
  expect((await jobs()).flat()).toHaveLength(100);
  await eventually(async () => capacity(maxDepth - 100) && !capacity(maxDepth - 99));
});

test('L1: where jobs are slow, what has gathered leaves all the same, in jobs of 64 for many workers', async () => {
  const { ask, jobs, redis } = await openQueue();
  const slow = some(192);
  await ask(slow).accepted;
  const later = some(300);
  await ask(later).accepted;
  await eventually(async () => (await redis.llen(waitKey)) === 8);
  const [, , , ...rest] = await jobs();
  expect(rest.map((ids) => ids.length)).toEqual([64, 64, 64, 64, 44]);
  expect(rest.flat()).toEqual(idsOf(later));
});
