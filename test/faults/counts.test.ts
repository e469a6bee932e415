import { randomUUIDv7 } from 'node:crypto';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { untilReady } from '../../src/shared/queue/connection.ts';
import { openQueue } from '../../src/shared/queue/open-queue.ts';
import { stampQueueName } from '../../src/shared/queue/stamp-job.ts';
import { createCounterStore } from '../../src/shared/store/counters.ts';
import { openDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { prepareFreezing } from '../support/freezing.ts';
import { addWorkerProcess, startService } from '../support/service.ts';
import { stampItem } from '../support/stamp-items.ts';

test('E11: a job that was sent twice, and whose worker is killed before it counts, is counted, and what was counted before is not counted again', async () => {
  const service = await startService({ workers: 0 });
  const freezing = prepareFreezing();
  onTestFinished(freezing.dispose);
  const settings = { ...service.settings, ...freezing.settings };
  const redis = new Redis(service.settings.REDIS_URL ?? '');
  onTestFinished(() => redis.disconnect());
  await untilReady(redis);
  const queue = openQueue(stampQueueName, { redis, log: pino({ level: 'silent' }), retryKind: 'stamp', removeOnFail: true });
  onTestFinished(() => queue.close());
  const counters = createCounterStore(await openDatabase(service));
  onTestFinished(counters.close);
  const totalIs = async (total: number) => (await counters.totals(Date.now())).lifetime.stamps === total;
  const isDone = async () => (await queue.getJobCountByTypes('wait', 'active', 'delayed')) === 0;

  const [before, fresh] = [stampItem(), stampItem()];
  const jobId = `${randomUUIDv7()}-2`;
  const killed = await addWorkerProcess({ settings });
  await queue.add('stamp', { replyTo: 'nobody', items: [before] }, { jobId });
  await eventually(async () => (await isDone()) && totalIs(1));
  await Promise.all([
    freezing.beforeWrite('count_ledgers'),
    queue.add('stamp', { replyTo: 'nobody', isRepeated: true, items: [before, fresh] }, { jobId }),
  ]);
  await killed.kill();
  await addWorkerProcess({ settings });
  await eventually(isDone);
  expect((await counters.totals(Date.now())).lifetime.stamps).toBe(2);
}, 60_000);
