import type { Acceptance } from '../../shared/queue/acceptance.ts';
import type { StampItem } from '../../shared/queue/stamp-job.ts';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
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
    .accept(item, () => waiter.isWaitedFor(tokenId), heard)
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
  const isFresh = items.map(({ tokenId }) => !waiter.isWaitedFor(tokenId));
  const fresh = items.filter((_, index) => isFresh[index]);
  queue.checkCapacity(fresh.length);
  const heard = waiter.waitForAll(items.map(({ tokenId }) => tokenId));
  const outcomes = heard.map((one, index) => outcomeOf(one, items[index]!));
  const failAll = (failed: readonly StampItem[], error: unknown) => {
    for (const { tokenId } of failed) waiter.fail(tokenId, error);
  };
  try {
    const parts =
      fresh.length === 0
        ? []
        : await queue.acceptAll(
            fresh,
            ({ tokenId }) => waiter.isWaitedFor(tokenId),
            heard.filter((_, index) => isFresh[index]),
          );
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

interface Promising {
  readonly queue: StampQueue;
  readonly clock: Clock;
  /** How long a queue that does not answer is asked again. */
  readonly waitMs: number;
}

const promised = (item: StampItem): StampItem => ({ ...item, isPromised: true });

/** Accepts an item that nobody waits for: it is made for certain (N1). @throws ServiceError `overloaded`, `queue_unavailable` */
export async function acceptPromised({ queue, clock, waitMs }: Promising, item: StampItem): Promise<Acceptance> {
  const until = clock() + waitMs;
  return queue.accept(promised(item), () => clock() < until);
}

/**
 * The same for many items: of each, in their order, what the queue said; `queue_unavailable` where it took only others.
 *
 * @throws ServiceError `overloaded`, `queue_unavailable`: nothing was accepted
 */
export async function acceptAllPromised(
  { queue, clock, waitMs }: Promising,
  items: readonly StampItem[],
): Promise<readonly Promise<Acceptance>[]> {
  if (items.length === 0) return [];
  const until = clock() + waitMs;
  const parts = await queue.acceptAll(items.map(promised), () => clock() < until);
  return parts.flatMap(({ items: part, acceptance }) => part.map(() => acceptance));
}
