import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { firstIdAt } from '../../src/shared/domain/stamp-id.ts';
import { keyPrefix } from '../../src/shared/queue/connection.ts';
import { jobOptionsOf } from '../../src/shared/queue/open-queue.ts';
import { stampQueueName } from '../../src/shared/queue/stamp-job.ts';
import { createBatchStore } from '../../src/shared/store/batches.ts';
import { createCounterStore } from '../../src/shared/store/counters.ts';
import { hourOf, type PeriodDocument } from '../../src/shared/store/period-counts.ts';
import { createRenewalStore } from '../../src/shared/store/renewals.ts';
import { openDatabase } from '../support/database.ts';
import { prepareFreezing } from '../support/freezing.ts';
import { addWorkerProcess, type ServiceProcess, startService } from '../support/service.ts';
import { stampItem } from '../support/stamp-items.ts';

const hourMs = 3_600_000;

/** A worker that freezes before it counts a stamp that was accepted two hours ago and is already stored. */
async function freezeBeforeCounting() {
  const service = await startService({ workers: 0 });
  const freezing = prepareFreezing();
  onTestFinished(freezing.dispose);
  const worker: ServiceProcess = await addWorkerProcess({ settings: { ...service.settings, ...freezing.settings } });
  const redis = new Redis(service.settings.REDIS_URL ?? '', { maxRetriesPerRequest: null });
  const queue = new Queue(stampQueueName, { connection: redis, prefix: keyPrefix });
  onTestFinished(async () => {
    await queue.close();
    redis.disconnect();
  });
  const acceptedAt = Date.now() - 2 * hourMs;
  const item = { ...stampItem(), acceptedAt };
  const items = [{ ...item, tokenId: `${firstIdAt(acceptedAt)}${item.tokenId.slice(13)}` }];
  await Promise.all([
    freezing.beforeWrite('counts'),
    queue.add('stamp', { replyTo: 'nobody', items }, { ...jobOptionsOf('stamp'), attempts: 1 }),
  ]);
  const db = await openDatabase(service);
  const counters = createCounterStore(db, { batches: createBatchStore(db, createRenewalStore(db)), log: pino({ level: 'silent' }) });
  const hour = { _id: hourOf(acceptedAt) };
  const counted = async () => (await db.collection<PeriodDocument>('counts').findOne(hour))?.done?.stamps;
  return { worker, counters, counted };
}

test('stamps that a killed worker did not count are counted once their hour is over (S12)', async () => {
  const { worker, counters, counted } = await freezeBeforeCounting();
  await worker.kill();
  expect(await counted()).toBeUndefined();
  await counters.recountEnded(Date.now());
  expect(await counted()).toBe(1);
}, 60_000);

test('if a frozen worker counts after the recount of its hour, the next recount corrects it (S12)', async () => {
  const { worker, counters, counted } = await freezeBeforeCounting();
  await counters.recountEnded(Date.now());
  process.kill(worker.pid, 'SIGCONT');
  // It writes its counts before it ends.
  await worker.stop();
  await counters.recountEnded(Date.now() + hourMs);
  expect(await counted()).toBe(1);
}, 60_000);
