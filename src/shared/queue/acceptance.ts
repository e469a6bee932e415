import { type Redis, ReplyError } from 'ioredis';
import { checkConnection, queueUnavailable } from './open-queue.ts';

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
