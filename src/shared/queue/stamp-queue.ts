import { randomUUIDv7 } from 'node:crypto';
import type { Redis } from 'ioredis';
import { ServiceError } from '../domain/service-error.ts';
import { createBatcher } from '../runtime/batcher.ts';
import type { Logger } from '../runtime/log.ts';
import { createDepthGauge, jobIdOf } from './depth.ts';
import { checkConnection, openQueue, queueUnavailable } from './open-queue.ts';
import { maxItemsPerJob, type StampItem, type StampJob, stampQueueName } from './stamp-job.ts';

/** The API's end of the `stamps` queue. */
export interface StampQueue {
  /**
   * Says early what `accept` would say, before anything is stored for a request.
   *
   * @throws ServiceError `overloaded` beyond the depth allowed, `queue_unavailable` without a connection.
   */
  checkCapacity(): void;
  /**
   * Accepts an item: resolves when Redis has acknowledged the job that carries it.
   *
   * @throws ServiceError `overloaded` beyond the depth allowed, `queue_unavailable` when Redis does not acknowledge.
   */
  accept(item: StampItem): Promise<void>;
  close(): Promise<void>;
}

/** `maxDepth`: how many stamps may wait before more are refused. `replyTo`: the stream that replies are read from. */
export function createStampQueue(options: { redis: Redis; replyTo: string; maxDepth: number; log: Logger }): StampQueue {
  const { redis, replyTo, maxDepth, log } = options;
  const queue = openQueue<StampJob>(stampQueueName, { redis, log, retryKind: 'stamp', removeOnFail: { count: 1_000 } });
  const depth = createDepthGauge({ redis, log });
  /** Stamps that Redis has not acknowledged yet. */
  let entering = 0;

  const batcher = createBatcher<StampItem>({
    maxItems: maxItemsPerJob,
    gathersTurn: true,
    flush: async (items) => {
      const jobId = jobIdOf(randomUUIDv7(), items.length);
      try {
        await queue.add('stamp', { replyTo, items }, { jobId });
      } catch (error) {
        throw queueUnavailable(error);
      }
      depth.added(jobId);
      entering -= items.length;
    },
  });

  const checkCapacity = () => {
    checkConnection(redis);
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
        await batcher.add(item);
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
