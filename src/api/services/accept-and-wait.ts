import type { StampItem, StampReply } from '../../shared/queue/stamp-job.ts';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import type { ReplyWaiter } from './reply-waiter.ts';

/**
 * Enqueues an item and waits for its outcome; the wait begins first, since a reply may overtake the queue's acknowledgement.
 * Undefined: accepted, and not finished in time (E11).
 *
 * @throws ServiceError `overloaded`, `queue_unavailable`
 */
export async function acceptAndWait(
  { queue, waiter }: { queue: StampQueue; waiter: ReplyWaiter },
  item: StampItem,
): Promise<StampReply | undefined> {
  const reply = waiter.waitFor(item.tokenId);
  try {
    await queue.accept(item);
  } catch (error) {
    waiter.forget(item.tokenId);
    throw error;
  }
  return reply;
}
