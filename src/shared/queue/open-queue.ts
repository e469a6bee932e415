import { Queue } from 'bullmq';
import { type Redis, ReplyError } from 'ioredis';
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

/** `unanswered`: the command was given to the connection and nothing was heard of it, so that the job may be in the queue and may not. */
export type Acceptance = 'acknowledged' | 'unanswered';

/** Words of ioredis 6 for a command that it did not send. */
const neverSent = "Stream isn't writeable";

/**
 * Adds a job and says what is known of it. Only what surely never reached the queue is an error, since a caller who is told 503
 * sends his request again (E11): it was not sent, or Redis itself refused it.
 *
 * @throws ServiceError `queue_unavailable`
 */
export async function acceptanceOf(redis: Redis, add: () => Promise<unknown>): Promise<Acceptance> {
  checkConnection(redis);
  try {
    await add();
    return 'acknowledged';
  } catch (error) {
    if (error instanceof ReplyError || (error instanceof Error && error.message.startsWith(neverSent))) throw queueUnavailable(error);
    return 'unanswered';
  }
}
