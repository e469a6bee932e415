import { Queue } from 'bullmq';
import { type Redis, ReplyError } from 'ioredis';
import { ServiceError } from '../domain/service-error.ts';
import type { Logger } from '../runtime/log.ts';
import { keyPrefix } from './connection.ts';

/** The queues that keep jobs that were given up. `maintenance` does not keep them, because its next run does the same work. */
export const keptQueues = ['stamps', 'promised-stamps', 'emails', 'workflows', 'webhooks', 'renewals'] as const;
export type QueueName = (typeof keptQueues)[number] | 'maintenance';

/** So many attempts that a job is retried until it succeeds: an accepted request is always done once the servers are back. */
const unlimitedAttempts = 1_000_000;

/** The options of BullMQ for a kind of job. `retryDelayMs` computes the retry pauses. A job that was given up stays until an operator decides. */
export const jobOptionsOf = (kind: string) => ({
  attempts: unlimitedAttempts,
  backoff: { type: kind },
  removeOnComplete: true,
  removeOnFail: false,
});

/** The form of all payloads (E17). The number grows with a form that an earlier worker would misread. */
const jobForm = 1;

/** Returns the payload as it is stored: with the number of its form. */
export const inJobForm = <Payload>(payload: Payload): Payload => ({ form: jobForm, ...payload });

/** Whether only a newer worker can read this stored payload. */
export const isOfNewerForm = (stored: unknown): boolean => Number((stored as { form?: unknown } | null)?.form) > jobForm;

/** Opens a queue to add or read jobs. Each added payload gets the number of its form. */
export function openQueue<Payload>(name: QueueName, { redis, log }: { redis: Redis; log: Logger }): Queue<Payload> {
  const queue = new Queue<Payload>(name, {
    connection: redis,
    prefix: keyPrefix,
    skipWaitingForReady: true,
    skipVersionCheck: true,
    streams: { events: { maxLen: 100 } },
  });
  const add = queue.add.bind(queue);
  queue.add = (job, payload, options) => add(job, inJobForm(payload), options);
  queue.on('error', (error) => log.debug({ err: error }, 'a queue reported an error'));
  return queue;
}

/** Makes the error for a job that Redis does not accept (E10). */
export const queueUnavailable = (cause: unknown): ServiceError =>
  new ServiceError('queue_unavailable', 'The queue cannot accept requests at the moment.', { retryAfterSeconds: 2, cause });

/** Checks that Redis is connected. @throws ServiceError `queue_unavailable` if it is not */
export function checkConnection(redis: Redis): void {
  if (redis.status !== 'ready') throw queueUnavailable('not connected');
}

/** The result of adding a job. `unanswered`: the command was sent but not answered, so the job may or may not be in the queue. */
export type Acceptance = 'acknowledged' | 'unanswered';

/** The message of ioredis 6 for a command that it did not send. */
const neverSent = "Stream isn't writeable";

/**
 * Adds a job and reports the result. It throws only if the job certainly did not reach the queue (not sent, or refused by Redis), because the caller
 * then gets 503 and sends the request again (E11).
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
