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

/** Puts items into the queue; one that is waited for already (a repeated request) is not queued again. @throws ServiceError as `StampQueue.accept` */
function enter({ queue, waiter }: Ends, items: readonly StampItem[]): { accepted: Promise<Acceptance>[]; heard: Promise<Heard>[] } {
  const fresh = items.filter(({ tokenId }) => !waiter.isWaitedFor(tokenId));
  const accepted = queue.accept(fresh, ({ tokenId }) => waiter.isWaitedFor(tokenId));
  const heard = waiter.waitForAll(items.map(({ tokenId }) => tokenId));
  for (const [index, { tokenId }] of fresh.entries()) {
    accepted[index]!.then(
      (acceptance) => acceptance === 'acknowledged' && waiter.accepted(tokenId),
      (error) => waiter.fail(tokenId, error),
    );
  }
  return { accepted, heard };
}

/** Resolves when the queue has taken one of the items. @throws ServiceError `queue_unavailable` where it took none */
async function untilAnyIsAccepted(accepted: readonly Promise<Acceptance>[]): Promise<void> {
  if (accepted.length === 0) return;
  try {
    await Promise.any(accepted);
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error;
  }
}

/**
 * Puts an item into the queue and waits for its outcome. No reply: not finished in time, though the job is, or may be, in the queue (E11).
 *
 * @throws ServiceError `overloaded`, `queue_unavailable`
 */
export const acceptAndWait = async (ends: Ends, item: StampItem): Promise<Heard> => enter(ends, [item]).heard[0]!;

/**
 * The same for many items, of which each gets its own `outcomeOf` what was heard. Resolves when the queue has answered; the outcomes come as
 * stamps are made. Where the queue took some of them only, the others' outcome is that of `queue_unavailable`.
 *
 * @throws ServiceError `overloaded`, `queue_unavailable`: nothing was accepted
 */
export async function acceptAllAndWait<Outcome>(
  ends: Ends,
  items: readonly StampItem[],
  outcomeOf: (heard: Promise<Heard>, item: StampItem) => Promise<Outcome>,
): Promise<Promise<Outcome>[]> {
  const { accepted, heard } = enter(ends, items);
  const outcomes = heard.map((one, index) => outcomeOf(one, items[index]!));
  await untilAnyIsAccepted(accepted);
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

/** What is heard of each within `patienceMs`, and within the time that every caller has. */
function hearWithin({ waiter }: Pick<Ends, 'waiter'>, items: readonly StampItem[], patienceMs: number): Promise<StampReply | undefined>[] {
  if (patienceMs === 0) return items.map(async () => undefined);
  const over = delay(patienceMs, undefined, { ref: false });
  return waiter.waitForAll(items.map(({ tokenId }) => tokenId)).map((heard) => Promise.race([heard.then(({ reply }) => reply), over]));
}

/**
 * Accepts items that are made for certain, whether their caller waits or not (N1). An item that the queue did not take rejects with
 * `queue_unavailable`.
 *
 * @param patienceMs how long the caller waits for the outcomes first
 * @throws ServiceError `overloaded`, `queue_unavailable`: nothing was accepted
 */
export async function acceptAllPromised(
  ends: Promising,
  items: readonly StampItem[],
  patienceMs: number,
): Promise<readonly Promise<Promised>[]> {
  const until = ends.clock() + ends.waitMs;
  const accepted = ends.queue.accept(items.map(promised), () => ends.clock() < until);
  const heard = hearWithin(ends, items, patienceMs);
  const outcomes = accepted.map(async (accepting, index) => {
    const [acceptance, reply] = await Promise.all([accepting, heard[index]]);
    return { acceptance, reply };
  });
  // The caller gets each error with its outcome. Where nothing was accepted, nobody looks at the outcomes.
  for (const outcome of outcomes) outcome.catch(() => undefined);
  await untilAnyIsAccepted(accepted);
  return outcomes;
}

/** The same for one item. @throws ServiceError `overloaded`, `queue_unavailable` */
export async function acceptPromised(ends: Promising, item: StampItem, patienceMs: number): Promise<Promised> {
  const [outcome] = await acceptAllPromised(ends, [item], patienceMs);
  return outcome!;
}
