import { randomUUIDv7 } from 'node:crypto';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { readBacklog } from '../../src/shared/queue/backlog.ts';
import { untilReady } from '../../src/shared/queue/connection.ts';
import { createDepthGauge } from '../../src/shared/queue/depth.ts';
import { openQueue } from '../../src/shared/queue/open-queue.ts';
import { stampQueueName } from '../../src/shared/queue/stamp-job.ts';
import { createStampQueue } from '../../src/shared/queue/stamp-queue.ts';
import { eventually, getJson } from '../support/requests.ts';
import { startService } from '../support/service.ts';
import { stampItem } from '../support/stamp-items.ts';

test('E10: of many waiting jobs of any size the depth is exact, and few are looked at; drained, none waits', async () => {
  const service = await startService({ workers: 0 });
  const redis = new Redis(service.settings.REDIS_URL ?? '');
  onTestFinished(() => redis.disconnect());
  await untilReady(redis);
  const log = pino({ level: 'silent' });
  const queue = createStampQueue({ redis, replyTo: 'nobody', maxDepth: 10_000, log });
  onTestFinished(() => queue.close());
  const accept = (items: number) => Promise.all(Array.from({ length: items }, () => queue.accept(stampItem(), () => true)));

  const startedAt = Date.now();
  await accept(1);
  const acceptedAt = Date.now();
  for (let jobs = 1; jobs < 300; jobs += 1) await accept(1 + (jobs % 3));
  await accept(640);
  const waiting = 1 + Array.from({ length: 299 }, (_, job) => 1 + ((job + 1) % 3)).reduce((sum, items) => sum + items) + 640;
  const backlog = await readBacklog(redis);
  expect(backlog.waiting).toBe(waiting);
  expect(backlog.newest).toHaveLength(256);
  expect(backlog.oldestAt).toBeGreaterThanOrEqual(startedAt);
  expect(backlog.oldestAt).toBeLessThanOrEqual(acceptedAt);
  await eventually(async () => ((await getJson(service, '/api/v1/status')).body.queue as { depth: number }).depth === waiting);

  // As a crash between two writes would leave it: what so many jobs can carry is the limit.
  const jobs = await redis.llen('{qstamp}:stamps:wait');
  await redis.set('{qstamp}:unfinished-stamps', '-5');
  expect((await readBacklog(redis)).waiting).toBe(jobs);
  await redis.set('{qstamp}:unfinished-stamps', '1000000');
  expect((await readBacklog(redis)).waiting).toBe(256 * jobs);

  await service.startWorker();
  await eventually(async () => (await readBacklog(redis)).waiting === 0);
  await eventually(async () => (await redis.get('{qstamp}:unfinished-stamps')) === '0');
});

test('E10: a job whose sender hears of it only after the depth was read counts once', async () => {
  const service = await startService({ workers: 0 });
  const redis = new Redis(service.settings.REDIS_URL ?? '');
  onTestFinished(() => redis.disconnect());
  await untilReady(redis);
  const log = pino({ level: 'silent' });
  const queue = openQueue(stampQueueName, { redis, log, retryKind: 'stamp', removeOnFail: true });
  onTestFinished(() => queue.close());
  const gauge = createDepthGauge({ redis, log });
  onTestFinished(() => gauge.stop());
  const [jobId, nextJobId] = [`${randomUUIDv7()}-3`, `${randomUUIDv7()}-4`];
  await queue.add('stamp', {}, { jobId });
  await eventually(async () => gauge.current() === 3);
  gauge.added(jobId);
  expect(gauge.current()).toBe(3);
  gauge.added(nextJobId);
  expect(gauge.current()).toBe(7);
});
