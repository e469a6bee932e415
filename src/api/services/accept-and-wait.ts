import type { StampItem } from '../../shared/queue/stamp-job.ts';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import type { Heard, ReplyWaiter } from './reply-waiter.ts';

/**
 * Puts an item into the queue and waits for its outcome. Waiting begins first, because the reply may arrive before the queue's
 * acknowledgement. If the same item is already waited for (a repeated request), it is not queued again. No reply: not finished in time,
 * though the job is, or may be, in the queue (E11).
 *
 * @throws ServiceError `overloaded`, `queue_unavailable`
 */
export async function acceptAndWait({ queue, waiter }: { queue: StampQueue; waiter: ReplyWaiter }, item: StampItem): Promise<Heard> {
  const { tokenId } = item;
  if (waiter.isWaitedFor(tokenId)) return waiter.waitFor(tokenId);
  const heard = waiter.waitFor(tokenId);
  queue
    .accept(item, () => waiter.isWaitedFor(tokenId))
    .then(
      (acceptance) => acceptance === 'acknowledged' && waiter.accepted(tokenId),
      (error) => waiter.fail(tokenId, error),
    );
  return heard;
}
