import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { connectWorker, disconnect, untilReady } from '../../src/shared/queue/connection.ts';
import { consumeJobs } from '../../src/shared/queue/consumer.ts';
import type { JobProcessors } from '../../src/shared/queue/jobs.ts';
import { createStampQueue } from '../../src/shared/queue/stamp-queue.ts';
import { eventually } from '../support/eventually.ts';
import { startPrivateRedis } from '../support/servers.ts';
import { stampItem } from '../support/stamp-items.ts';

test('E11: a run that fails ends only after what it still writes, so that the next run finds that', async () => {
  const server = await startPrivateRedis();
  onTestFinished(server.dispose);
  const log = pino({ level: 'silent' });
  const redis = connectWorker(server.url, log);
  onTestFinished(() => disconnect(redis));
  await untilReady(redis);
  const queue = createStampQueue({ redis, replyTo: 'nobody', maxDepth: 10, log });
  onTestFinished(() => queue.close());

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
