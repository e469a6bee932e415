import type { StampItem } from '../../shared/queue/stamp-job.ts';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import type { Heard, ReplyWaiter } from './reply-waiter.ts';

interface Ends {
  readonly queue: StampQueue;
  readonly waiter: ReplyWaiter;
}

/**
 * Puts an item into the queue and waits for its outcome. Waiting begins first, because the reply may arrive before the queue's
 * acknowledgement. If the same item is already waited for (a repeated request), it is not queued again. No reply: not finished in time,
 * though the job is, or may be, in the queue (E11).
 *
 * @throws ServiceError `overloaded`, `queue_unavailable`
 */
export async function acceptAndWait({ queue, waiter }: Ends, item: StampItem): Promise<Heard> {
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

/**
 * The same for many items, of which each gets its own `outcomeOf` what was heard. Resolves when the queue has answered; the outcomes come as
 * stamps are made. Where the queue took some of them only, the others' outcome is that of `queue_unavailable`.
 *
 * @throws ServiceError `overloaded`, `queue_unavailable`: nothing was accepted
 */
export async function acceptAllAndWait<Outcome>(
  { queue, waiter }: Ends,
  items: readonly StampItem[],
  outcomeOf: (heard: Promise<Heard>, item: StampItem) => Promise<Outcome>,
): Promise<Promise<Outcome>[]> {
  const fresh = items.filter(({ tokenId }) => !waiter.isWaitedFor(tokenId));
  queue.checkCapacity(fresh.length);
  const outcomes = waiter.waitForAll(items.map(({ tokenId }) => tokenId)).map((heard, index) => outcomeOf(heard, items[index]!));
  const failAll = (failed: readonly StampItem[], error: unknown) => {
    for (const { tokenId } of failed) waiter.fail(tokenId, error);
  };
  try {
    const parts = fresh.length === 0 ? [] : await queue.acceptAll(fresh, ({ tokenId }) => waiter.isWaitedFor(tokenId));
    for (const { items: part, acceptance } of parts) {
      acceptance.then(
        (answered) => {
          if (answered === 'acknowledged') for (const { tokenId } of part) waiter.accepted(tokenId);
        },
        (error) => failAll(part, error),
      );
    }
  } catch (error) {
    failAll(fresh, error);
    throw error;
  }
  return outcomes;
}
