import type { StampItem, StampReply } from '../../shared/queue/stamp-job.ts';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import type { ReplyWaiter } from './reply-waiter.ts';

/**
 * Puts an item into the queue and waits for its outcome. Waiting begins first, because the reply may arrive before the queue's
 * acknowledgement. If the same item is already waited for (a repeated request), it is not queued again. Undefined: accepted, but not
 * finished in time (E11).
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
