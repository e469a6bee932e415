import { hash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { promisedQueueName, type StampItem, type StampJob } from './jobs.ts';
import { jobOptionsOf, openQueue } from './sender.ts';

/**
 * Puts the items of a running job into the queue of the stamps that nobody waits for. Resolves when Redis has confirmed them. If the worker dies
 * before it removes them from their old job, they are in both queues. Usually the second run finds the stamps of the first; if both
 * run at once, a TSA is asked twice, and one stamp is kept.
 */
export type HandOver = (replyTo: string, items: readonly StampItem[]) => Promise<void>;

export function createHandOver({ redis, log }: { redis: Redis; log: Logger }): { handOver: HandOver; close(): Promise<void> } {
  const queue = openQueue<StampJob>(promisedQueueName, { redis, log });
  return {
    handOver: async (replyTo, items) => {
      // The same items get the same id, so that a repetition adds nothing. Other items of the same job need another id: BullMQ would drop them.
      const jobId = hash('sha256', items.map(({ tokenId }) => tokenId).join()).slice(0, 32);
      const job: StampJob = { replyTo, isRepeated: true, items: items.map((item) => ({ ...item, isPromised: true })) };
      const timestamp = Math.min(...items.map(({ acceptedAt }) => acceptedAt));
      await queue.add('promised-stamp', job, { ...jobOptionsOf('promised-stamp'), jobId, timestamp });
    },
    close: () => queue.close(),
  };
}
