import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { ServiceError } from '../domain/service-error.ts';
import type { Logger } from '../runtime/log.ts';
import { keyPrefix } from './connection.ts';

/** The queues whose jobs are kept when they are given up. What `maintenance` does not do, its next run does. */
export const keptQueues = ['stamps', 'emails', 'workflows', 'webhooks', 'renewals'] as const;
export type QueueName = (typeof keptQueues)[number] | 'maintenance';

/** A job is tried until it succeeds: what was accepted gets done, whenever the servers are back (E11). */
const unlimitedAttempts = 1_000_000;

/** How jobs of a kind are kept: when a failed one is due again (`retryDelayMs`), and, once it was given up, until an operator decides. */
export const jobOptionsOf = (kind: string) => ({
  attempts: unlimitedAttempts,
  backoff: { type: kind },
  removeOnComplete: true,
  removeOnFail: false,
});

/** A queue, to add to it or to look at it. */
export function openQueue<Payload>(name: QueueName, { redis, log }: { redis: Redis; log: Logger }): Queue<Payload> {
  const queue = new Queue<Payload>(name, {
    connection: redis,
    prefix: keyPrefix,
    skipWaitingForReady: true,
    skipVersionCheck: true,
    streams: { events: { maxLen: 100 } },
  });
  queue.on('error', (error) => log.debug({ err: error }, 'queue connection'));
  return queue;
}

/** Redis does not take a job (E10). */
export const queueUnavailable = (cause: unknown): ServiceError =>
  new ServiceError('queue_unavailable', 'The queue cannot take requests at the moment.', { retryAfterSeconds: 2, cause });

/** @throws ServiceError `queue_unavailable` without a connection. */
export function checkConnection(redis: Redis): void {
  if (redis.status !== 'ready') throw queueUnavailable('not connected');
}
