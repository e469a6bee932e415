import { randomUUIDv7 } from 'node:crypto';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { ServiceError } from '../domain/service-error.ts';
import { createBatcher } from '../runtime/batcher.ts';
import type { Logger } from '../runtime/log.ts';
import { type Acceptance, acceptanceOf, queueUnavailable } from './acceptance.ts';
import { keyPrefix, producerTimeoutMs } from './connection.ts';
import { createDepthGauge, depthRefreshMs, jobIdOf } from './depth.ts';
import { maxItemsPerJob, type StampItem, type StampJob, stampQueueName } from './stamp-job.ts';

/** Attempts at a job end only with its success: what was accepted is stamped whenever the store is back (E11). */
export const unlimitedAttempts = 1_000_000;

/** The API's end of the `stamps` queue. */
export interface StampQueue {
  /**
   * Says early what `accept` would say, before anything is stored for a request.
   *
   * @throws ServiceError `overloaded` beyond the depth allowed, `queue_unavailable` without a connection.
   */
  checkCapacity(): void;
  /**
   * Accepts an item: resolves when Redis has acknowledged the job that carries it, or can be waited for no longer.
   *
   * @throws ServiceError `overloaded` beyond the depth allowed, `queue_unavailable` when the job surely did not reach Redis.
   */
  accept(item: StampItem): Promise<Acceptance>;
  close(): Promise<void>;
}

/** What is sent to a Redis that has been silent for longer would only leave more callers without an outcome. */
const longestSilenceMs = depthRefreshMs + producerTimeoutMs;

interface Entering {
  readonly item: StampItem;
  acceptance: Acceptance;
}

/** `maxDepth`: how many stamps may wait before more are refused. `replyTo`: the stream that replies are read from. */
export function createStampQueue(options: { redis: Redis; replyTo: string; maxDepth: number; log: Logger }): StampQueue {
  const { redis, replyTo, maxDepth, log } = options;
  const queue = new Queue<StampJob>(stampQueueName, {
    connection: redis,
    prefix: keyPrefix,
    skipWaitingForReady: true,
    skipVersionCheck: true,
    streams: { events: { maxLen: 100 } },
    defaultJobOptions: {
      attempts: unlimitedAttempts,
      backoff: { type: 'custom' },
      removeOnComplete: true,
      removeOnFail: { count: 1_000 },
    },
  });
  queue.on('error', (error) => log.debug({ err: error }, 'queue connection'));
  const depth = createDepthGauge({ redis, log });
  /** Stamps that Redis has not acknowledged yet. */
  let entering = 0;

  let unansweredAt = Number.NEGATIVE_INFINITY;

  const checkConnection = () => {
    if (redis.status !== 'ready') throw queueUnavailable('not connected');
    const answeredAt = depth.answeredAt();
    if (answeredAt < unansweredAt || answeredAt < performance.now() - longestSilenceMs) throw queueUnavailable('silent');
  };

  const batcher = createBatcher<Entering>({
    maxItems: maxItemsPerJob,
    gathersTurn: true,
    flush: async (batch) => {
      checkConnection();
      const items = batch.map(({ item }) => item);
      const jobId = jobIdOf(randomUUIDv7(), items.length);
      const acceptance = await acceptanceOf(redis, () => queue.add('stamp', { replyTo, items }, { jobId }));
      if (acceptance === 'unanswered') {
        unansweredAt = performance.now();
        log.warn({ job: jobId, stamps: items.length }, 'redis did not say whether it took a job');
      }
      for (const waiting of batch) waiting.acceptance = acceptance;
      depth.added(jobId);
      entering -= items.length;
    },
  });

  const checkCapacity = () => {
    checkConnection();
    if (depth.current() + entering >= maxDepth) {
      throw new ServiceError('overloaded', 'Too many stamps are waiting; please try again shortly.', { retryAfterSeconds: 5 });
    }
  };
  return {
    checkCapacity,
    accept: async (item) => {
      checkCapacity();
      entering += 1;
      try {
        const waiting: Entering = { item, acceptance: 'unanswered' };
        await batcher.add(waiting);
        return waiting.acceptance;
      } catch (error) {
        entering -= 1;
        throw error;
      }
    },
    close: async () => {
      await depth.stop();
      await queue.close();
    },
  };
}
