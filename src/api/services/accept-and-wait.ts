import { setTimeout as delay } from 'node:timers/promises';
import type { Acceptance } from '../../shared/queue/acceptance.ts';
import type { StampItem, StampReply } from '../../shared/queue/stamp-job.ts';
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

interface Promising extends Ends {
  readonly clock: Clock;
  /** How long a queue that does not answer is asked again. */
  readonly waitMs: number;
}

/** What became of an item that was promised. `reply`: what was heard of it meanwhile, where its caller waits a little first. */
export interface Promised {
  readonly acceptance: Acceptance;
  readonly reply: StampReply | undefined;
}

const promised = (item: StampItem): StampItem => ({ ...item, isPromised: true });

/** What is heard of each within `patienceMs`, and within the time that every caller has. Call it before the items are queued. */
function hearWithin({ waiter }: Pick<Ends, 'waiter'>, items: readonly StampItem[], patienceMs: number): Promise<StampReply | undefined>[] {
  if (patienceMs === 0) return items.map(async () => undefined);
  const over = delay(patienceMs, undefined, { ref: false });
  return waiter.waitForAll(items.map(({ tokenId }) => tokenId)).map((heard) => Promise.race([heard.then(({ reply }) => reply), over]));
}

/**
 * Accepts an item that is made for certain, whether its caller waits or not (N1).
 *
 * @param patienceMs how long its caller waits for the outcome first
 * @throws ServiceError `overloaded`, `queue_unavailable`
 */
export async function acceptPromised(ends: Promising, item: StampItem, patienceMs: number): Promise<Promised> {
  const until = ends.clock() + ends.waitMs;
  const [heard] = hearWithin(ends, [item], patienceMs);
  const acceptance = await ends.queue.accept(promised(item), () => ends.clock() < until);
  return { acceptance, reply: await heard };
}

/**
 * The same for many items, in their order; `queue_unavailable` of each that the queue did not take, where it took others.
 *
 * @throws ServiceError `overloaded`, `queue_unavailable`: nothing was accepted
 */
export async function acceptAllPromised(
  ends: Promising,
  items: readonly StampItem[],
  patienceMs: number,
): Promise<readonly Promise<Promised>[]> {
  if (items.length === 0) return [];
  const until = ends.clock() + ends.waitMs;
  const heard = hearWithin(ends, items, patienceMs);
  const parts = await ends.queue.acceptAll(items.map(promised), () => ends.clock() < until);
  const acceptances = parts.flatMap(({ items: part, acceptance }) => part.map(() => acceptance));
  return acceptances.map(async (acceptance, index) => ({ acceptance: await acceptance, reply: await heard[index] }));
}
