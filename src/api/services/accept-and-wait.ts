import type { StampItem, StampReply } from '../../shared/queue/stamp-job.ts';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import type { ReplyWaiter } from './reply-waiter.ts';

/** `isAccepted`: not known when the queue did not answer; a reply, where there is one, settles it. */
export interface Heard {
  readonly reply: StampReply | undefined;
  readonly isAccepted: boolean;
}

/**
 * Enqueues an item and waits for its outcome; the wait begins first, since a reply may overtake the queue's acknowledgement.
 * A repetition of a request that is under way waits with it. No reply: not finished in time, though
 * the job is, or may be, in the queue (E11).
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
