import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { connectWorker, disconnect, untilReady } from '../../src/shared/queue/connection.ts';
import { consumeJobs } from '../../src/shared/queue/consumer.ts';
import type { JobProcessors } from '../../src/shared/queue/jobs.ts';
import { createStampQueue } from '../../src/shared/queue/stamp-queue.ts';
import { eventually } from '../support/eventually.ts';
import { startPrivateRedis } from '../support/servers.ts';
import { stampItem } from '../support/stamp-items.ts';

/** A queue on a Redis of its own. */
async function startQueue() {
  const server = await startPrivateRedis();
  onTestFinished(server.dispose);
  const log = pino({ level: 'silent' });
  const redis = connectWorker(server.url, log);
  onTestFinished(() => disconnect(redis));
  await untilReady(redis);
  const queue = createStampQueue({ redis, replyTo: 'nobody', maxDepth: 10, log });
  onTestFinished(() => queue.close());
  return { redis, queue, log };
}

test('E11: a run that fails ends only after what it still writes, so that the next run finds that', async () => {
  const { redis, queue, log } = await startQueue();
  const { promise: writing, reject } = Promise.withResolvers<void>();
  writing.catch(() => undefined);
  const runs: boolean[] = [];
  const failed: string[] = [];
  const stamp: JobProcessors['stamp'] = async (_, { isRetry, endsAfter }) => {
    runs.push(isRetry);
    if (isRetry) return;
    endsAfter(writing);
    throw new Error('something else failed');
  };
  const consumer = consumeJobs({ redis, processors: { stamp } as JobProcessors, concurrency: 8, log, onFailed: (job) => failed.push(job) });
  onTestFinished(() => consumer.close());
  await queue.accept(stampItem(), () => true);
  await eventually(async () => runs.length > 0);
  // A later job goes through: nothing but the write holds the first one.
  await queue.accept(stampItem(), () => true);
  await eventually(async () => runs.length > 1);
  expect([runs, failed]).toEqual([[false, false], []]);
  reject(new Error('and the write too'));
  await eventually(async () => runs.filter((isRetry) => isRetry).length === 2);
  expect(failed).toEqual(['stamp', 'stamp']);
});

test('E11: a run that lost its job replaces no payload', async () => {
  const { redis, queue, log } = await startQueue();
  const payloads: unknown[] = [];
  const refused: string[] = [];
  const stamp: JobProcessors['stamp'] = async (job, { jobId, isRetry, note, keepOnly }) => {
    payloads.push(job);
    if (isRetry) return;
    await note({ ...job, isRepeated: true });
    await redis.del(`{qstamp}:stamps:${jobId}:lock`);
    for (const replace of [note, keepOnly])
      await replace({ ...job, countedBefore: [] }).catch(({ message }: Error) => refused.push(message));
    throw new Error('done again');
  };
  const consumer = consumeJobs({ redis, processors: { stamp } as JobProcessors, concurrency: 8, log });
  onTestFinished(() => consumer.close());
  await queue.accept(stampItem(), () => true);
  await eventually(async () => payloads.length === 2);
  expect(refused).toEqual(Array(2).fill('another worker has taken the job over'));
  expect(payloads[1]).toEqual({ ...(payloads[0] as object), isRepeated: true });
});
