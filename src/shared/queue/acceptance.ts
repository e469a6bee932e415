import { type Redis, ReplyError } from 'ioredis';
import { ServiceError } from '../domain/service-error.ts';

/** `unanswered`: the command has left and nothing was heard of it, so that the job may be in the queue and may not. */
export type Acceptance = 'acknowledged' | 'unanswered';

export const queueUnavailable = (cause: unknown) =>
  new ServiceError('queue_unavailable', 'The queue cannot take requests at the moment.', { retryAfterSeconds: 2, cause });

/** Words of ioredis 6 for a command that it did not send. */
const neverSent = "Stream isn't writeable";

/**
 * Adds a job and says what is known of it. Only what surely never reached the queue is an error, since a caller who is told 503
 * sends his request again (E11): it was not sent, or Redis itself refused it.
 *
 * @throws ServiceError `queue_unavailable`
 */
export async function acceptanceOf(redis: Redis, add: () => Promise<unknown>): Promise<Acceptance> {
  if (redis.status !== 'ready') throw queueUnavailable('not connected');
  try {
    await add();
    return 'acknowledged';
  } catch (error) {
    if (error instanceof ReplyError || (error instanceof Error && error.message.startsWith(neverSent))) throw queueUnavailable(error);
    return 'unanswered';
  }
}
