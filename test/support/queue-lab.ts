import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { openSubmission, type SubmitOptions } from '../../src/api/stamps/submission.ts';
import type { ApiTools } from '../../src/api/tools.ts';
import { consumeJobs } from '../../src/shared/queue/consumer.ts';
import { openFailedJobs } from '../../src/shared/queue/failed-jobs.ts';
import type { JobProcessors, StampJob } from '../../src/shared/queue/jobs.ts';
import { jobOptionsOf, openQueue } from '../../src/shared/queue/open-queue.ts';
import { watchQueue } from '../../src/shared/queue/queue-state.ts';
import { replyBlockMs } from '../../src/shared/queue/replies.ts';
import { createJobSender } from '../../src/shared/queue/sender.ts';
import { connectBlockingReader, connectProducer, connectWorker, disconnect, untilReady } from '../../src/shared/redis/connection.ts';
import { eventually } from './eventually.ts';
import { freshRedisUrl } from './servers.ts';
import { stampItem } from './stamp-items.ts';

const log = pino({ level: 'silent' });

/** A caller who waits for a minute. */
export const asker = (callerId = 'product:test'): SubmitOptions => ({ callerId, deadline: { begunAt: Date.now(), leftMs: () => 60_000 } });

/** The API's end of the queues, closed when the test ends. The store has no stamps. */
export async function openApiEnd(redisUrl: string, maxDepth: number, as: typeof connectWorker = connectProducer) {
  const redis = as({ REDIS_URL: redisUrl }, log);
  onTestFinished(() => disconnect(redis));
  await untilReady(redis);
  const watch = watchQueue({ redis, log });
  onTestFinished(() => watch.stop());
  const jobs = createJobSender({ redis, log });
  onTestFinished(() => jobs.close());
  const store = { stamps: { findMany: async () => [] }, workflows: { findCompleted: async () => [] } };
  const config = { QUEUE_MAX_DEPTH: maxDepth };
  const repliesRedis = connectBlockingReader({ REDIS_URL: redisUrl }, log, replyBlockMs);
  const tools = { config, store, jobs, queueWatch: watch, repliesRedis, log } as unknown as ApiTools;
  const submission = openSubmission(tools, { storedReplyOf: async () => undefined });
  onTestFinished(() => submission.close());
  return { watch, submission };
}

/** Both ends of the queues of a Redis database, closed when the test ends. */
export async function openQueueLab(url?: string) {
  const redisUrl = url ?? (await freshRedisUrl());
  const closing: (() => unknown)[] = [];
  onTestFinished(async () => {
    for (const close of closing.toReversed()) await close();
  });
  const redis = connectWorker({ REDIS_URL: redisUrl }, log);
  closing.push(() => disconnect(redis));
  await untilReady(redis);
  const stamps = openQueue<StampJob>('stamps', { redis, log });
  const promised = openQueue<StampJob>('promised-stamps', { redis, log });
  const failedJobs = openFailedJobs({ redis, log });
  closing.push(
    () => stamps.close(),
    () => promised.close(),
    () => failedJobs.close(),
  );
  return {
    log,
    redis,
    stamps,
    promised,
    failedJobs,
    /** Adds a job of one stamp, or of another payload. */
    add: async (jobId: string, payload: object = { replyTo: 'nobody', items: [stampItem()] }, name = 'stamp', options = {}) =>
      void (await stamps.add(name, payload as StampJob, { ...jobOptionsOf('stamp'), jobId, ...options })),
    /** Runs the jobs of both stamp queues. */
    consume: (
      stamp: JobProcessors['stamp'],
      told: Partial<Pick<Parameters<typeof consumeJobs>[0], 'onFailed' | 'onGivenUp' | 'log'>> = {},
    ) => {
      const consumer = consumeJobs({
        redis,
        processors: { stamp, 'promised-stamp': stamp } as JobProcessors,
        concurrency: 8,
        log,
        ...told,
      });
      closing.push(() => consumer.close());
    },
    /** Waits for a condition, and skips the pauses between the tries of a job. */
    untilRetried: (check: () => Promise<boolean>) =>
      eventually(async () => {
        await Promise.all([stamps.promoteJobs(), promised.promoteJobs()]);
        return check();
      }),
    openApiEnd: (maxDepth: number) => openApiEnd(redisUrl, maxDepth),
  };
}
