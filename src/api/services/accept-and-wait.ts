import type { StampItem, StampReply } from '../../shared/queue/stamp-job.ts';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import type { ReplyWaiter } from './reply-waiter.ts';

/**
 * Enqueues an item and waits for its outcome; the wait begins first, since a reply may overtake the queue's acknowledgement.
 * A repetition of a request that is under way waits with it. Undefined: accepted, and not finished in time (E11).
 *
 * @throws ServiceError `overloaded`, `queue_unavailable`
 */
export async function acceptAndWait(
  { queue, waiter }: { queue: StampQueue; waiter: ReplyWaiter },
  item: StampItem,
): Promise<StampReply | undefined> {
  if (waiter.isWaitedFor(item.tokenId)) return waiter.waitFor(item.tokenId);
  const reply = waiter.waitFor(item.tokenId);
  queue.accept(item).catch((error) => waiter.fail(item.tokenId, error));
  return reply;
}
