import type { StampItem, StampReply } from '../../shared/queue/stamp-job.ts';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import type { ReplyWaiter } from './reply-waiter.ts';

/** `isAccepted`: not known when the queue did not answer; a reply, where there is one, settles it. */
export interface Heard {
  readonly reply: StampReply | undefined;
  readonly isAccepted: boolean;
}

/**
 * Puts an item into the queue and waits for its outcome. Waiting begins first, because the reply may arrive before the queue's
 * acknowledgement. If the same item is already waited for (a repeated request), it is not queued again. No reply: not finished in time,
 * though the job is, or may be, in the queue (E11).
 *
 * @throws ServiceError `overloaded`, `queue_unavailable`
 */
export async function acceptAndWait({ queue, waiter }: { queue: StampQueue; waiter: ReplyWaiter }, item: StampItem): Promise<Heard> {
  if (waiter.isWaitedFor(item.tokenId)) return { reply: await waiter.waitFor(item.tokenId), isAccepted: false };
  const reply = waiter.waitFor(item.tokenId);
  let isAccepted = false;
  const isWaitedFor = () => waiter.isWaitedFor(item.tokenId);
  queue.accept(item, isWaitedFor).then(
    (acceptance) => (isAccepted = acceptance === 'acknowledged'),
    (error) => waiter.fail(item.tokenId, error),
  );
  return { reply: await reply, isAccepted };
}
