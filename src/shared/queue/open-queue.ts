import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { ServiceError } from '../domain/service-error.ts';
import type { Logger } from '../runtime/log.ts';
import { keyPrefix } from './connection.ts';

/** A job is tried until it succeeds: what was accepted gets done, whenever the servers are back (E11). */
const unlimitedAttempts = 1_000_000;

/** The API's end of a queue. `retryKind` says when a failed job is due again, see `retryDelayMs`; `removeOnFail` is BullMQ's. */
export function openQueue<Payload>(
  name: string,
  options: { redis: Redis; log: Logger; retryKind: string; removeOnFail: true | { count: number } },
): Queue<Payload> {
  const { redis, log, retryKind, removeOnFail } = options;
  const queue = new Queue<Payload>(name, {
    connection: redis,
    prefix: keyPrefix,
    skipWaitingForReady: true,
    skipVersionCheck: true,
    streams: { events: { maxLen: 100 } },
    defaultJobOptions: { attempts: unlimitedAttempts, backoff: { type: retryKind }, removeOnComplete: true, removeOnFail },
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
