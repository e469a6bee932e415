import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import type { Acceptance } from '../../shared/queue/open-queue.ts';
import { type StampedReply, type StampItem, type StampReply, stampedReplyOf } from '../../shared/queue/stamp-job.ts';
import type { StampQueue } from '../../shared/queue/stamp-queue.ts';
import { answerWithin } from '../../shared/runtime/answer-within.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { OutputStore } from '../../shared/store/outputs.ts';
import type { StampStore, StoredStamp } from '../../shared/store/stamps.ts';
import type { Deadline } from './deadline.ts';

/**
 * The states of a wait for a stamp. It is `sent` until the queue confirms the item, then `accepted`. In both states a worker's reply, or a stamp
 * found in the store, ends the wait with an answer; a timeout ends it without an answer. In `sent`, an error of the queue ends it with this error.
 * After its end, a wait is removed.
 */
type WaitState = 'sent' | 'accepted';

interface Ends {
  readonly queue: StampQueue;
  readonly waiter: ReplyWaiter;
  /** A product, or an address. */
  readonly callerId: string;
  /** When the caller gets an answer at the latest. */
  readonly deadline: Deadline;
}

/**
 * Puts items into the queue. If a request already waits for an item, the item is not queued again.
 *
 * @throws the same ServiceErrors as `StampQueue.accept`
 */
function enter(ends: Ends, items: readonly StampItem[]): { accepted: Promise<Acceptance>[]; heard: Promise<Heard>[] } {
  const { queue, waiter, callerId, deadline } = ends;
  const fresh = items.filter(({ tokenId }) => !waiter.isWaitedFor(tokenId));
  const accepted = queue.accept(callerId, fresh, ({ tokenId }) => waiter.isWaitedFor(tokenId));
  const heard = waiter.waitForAll(
    items.map(({ tokenId }) => tokenId),
    deadline.leftMs(),
  );
  for (const [index, { tokenId }] of fresh.entries()) {
    accepted[index]!.then(
      (acceptance) => acceptance === 'acknowledged' && waiter.accepted(tokenId),
      (error) => waiter.fail(tokenId, error),
    );
  }
  return { accepted, heard };
}

/** Resolves when the queue has accepted one of the items. @throws ServiceError `queue_unavailable` if it accepted none */
async function untilAnyIsAccepted(accepted: readonly Promise<Acceptance>[]): Promise<void> {
  if (accepted.length === 0) return;
  try {
    await Promise.any(accepted);
  } catch (error) {
    throw error instanceof AggregateError ? error.errors[0] : error;
  }
}

/**
 * Puts an item into the queue and waits for its outcome. If there is no reply, the stamp did not finish in time, but the job is in the queue, or may
 * be (E11).
 *
 * @throws ServiceError `rate_limited`, `overloaded`, `queue_unavailable`
 */
export const acceptAndWait = async (ends: Ends, item: StampItem): Promise<Heard> => enter(ends, [item]).heard[0]!;

/**
 * Like `acceptAndWait`, for many items. `outcomeOf` makes the outcome of each. Resolves when the queue has accepted an item; the outcomes resolve
 * when stamps are made. If the queue accepts only some items, the others get `queue_unavailable`.
 *
 * @throws ServiceError `rate_limited`, `overloaded`, `queue_unavailable`: nothing was accepted
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

/** The state of a promised item. `reply` is set if the outcome comes while the caller waits. */
export interface Promised {
  readonly acceptance: Acceptance;
  readonly reply: StampReply | undefined;
}

const promised = (item: StampItem): StampItem => ({ ...item, isPromised: true });

/** The replies that come within `patienceMs`; undefined for the others. */
function hearWithin(
  { waiter, deadline }: Pick<Ends, 'waiter' | 'deadline'>,
  items: readonly StampItem[],
  patienceMs: number,
): Promise<StampReply | undefined>[] {
  if (patienceMs === 0) return items.map(async () => undefined);
  const over = delay(patienceMs, undefined, { ref: false });
  const tokenIds = items.map(({ tokenId }) => tokenId);
  return waiter.waitForAll(tokenIds, deadline.leftMs()).map((heard) => Promise.race([heard.then(({ reply }) => reply), over]));
}

/**
 * Accepts items with a promise: workers make their stamps even if the caller does not wait (N1). For an item that the queue did not accept, the
 * promise rejects with `queue_unavailable`. Until the deadline, an item is sent again if the queue does not answer.
 *
 * @param patienceMs how long the caller waits for the outcomes
 * @throws ServiceError `rate_limited`, `overloaded`, `queue_unavailable`: nothing was accepted
 */
export async function acceptAllPromised(
  ends: Ends,
  items: readonly StampItem[],
  patienceMs: number,
): Promise<readonly Promise<Promised>[]> {
  const accepted = ends.queue.accept(ends.callerId, items.map(promised), () => ends.deadline.leftMs() > 0);
  const heard = hearWithin(ends, items, patienceMs);
  const outcomes = accepted.map(async (accepting, index) => {
    const [acceptance, reply] = await Promise.all([accepting, heard[index]]);
    return { acceptance, reply };
  });
  // Prevents unhandled rejections: if nothing was accepted, nobody reads the outcomes. Otherwise the caller still gets each error with its outcome.
  for (const outcome of outcomes) outcome.catch(() => undefined);
  await untilAnyIsAccepted(accepted);
  return outcomes;
}

/** Like `acceptAllPromised`, for one item. @throws ServiceError `rate_limited`, `overloaded`, `queue_unavailable` */
export async function acceptPromised(ends: Ends, item: StampItem, patienceMs: number): Promise<Promised> {
  const [outcome] = await acceptAllPromised(ends, [item], patienceMs);
  return outcome!;
}

/** When the time of a caller is up, the store is asked once more. This is the maximum wait for its answer. */
const lastLookMs = 500;

/** The result of a wait. `isAccepted`: whether the queue has confirmed the item. */
export interface Heard {
  readonly reply: StampReply | undefined;
  readonly isAccepted: boolean;
}

/** Gives the replies of workers to the requests that wait for them. */
export interface ReplyWaiter {
  /**
   * Waits this long for tokens, in order, and then up to half a second for the store, which is asked once for all tokens without a reply. `reply` is
   * undefined if there is neither a reply nor a stored stamp. Call it as soon as the items are sent to the queue, so that no reply is missed.
   */
  waitForAll(tokenIds: readonly string[], waitMs: number): Promise<Heard>[];
  /** Whether a request already waits for the token. */
  isWaitedFor(tokenId: string): boolean;
  /** Notes that the queue has confirmed the item. */
  accepted(tokenId: string): void;
  /** Ends the wait for a stamp that was not accepted. Its callers get `reason` as error. */
  fail(tokenId: string, reason: unknown): void;
  settle(reply: StampReply): void;
  /** Asks the store about all tokens that requests wait for, because replies may have been lost (docs/reference/architecture.md "Replying"). */
  lookUpAll(): Promise<void>;
}

/** Waits that began together. */
interface Group {
  left: number;
  timer?: NodeJS.Timeout;
}

interface Waiting {
  state: WaitState;
  readonly promise: Promise<Heard>;
  readonly resolve: (heard: Heard) => void;
  readonly reject: (reason: unknown) => void;
  readonly group: Group;
}

/** `findStored` reads the stamps with these ids from the store and returns a reply for each one that it finds. */
export function createReplyWaiter(options: {
  findStored: (tokenIds: readonly string[]) => Promise<StampReply[]>;
  log: Logger;
}): ReplyWaiter {
  const { findStored, log } = options;
  const waiting = new Map<string, Waiting>();

  function take(tokenId: string): Waiting | undefined {
    const entry = waiting.get(tokenId);
    waiting.delete(tokenId);
    if (entry) entry.group.left -= 1;
    if (entry?.group.left === 0) clearTimeout(entry.group.timer);
    return entry;
  }

  function settle(tokenId: string, reply: StampReply | undefined): void {
    const entry = take(tokenId);
    entry?.resolve({ reply, isAccepted: entry.state === 'accepted' });
  }

  async function lookUp(tokenIds: readonly string[]): Promise<void> {
    try {
      for (const reply of await findStored(tokenIds)) settle(reply.tokenId, reply);
    } catch (error) {
      log.warn({ err: error, stamps: tokenIds.length }, 'could not ask the store for stamps that requests wait for');
    }
  }

  async function giveUp(tokenIds: readonly string[], group: Group): Promise<void> {
    // A wait that a later request began for the same stamp is not in this group and continues.
    const leftOf = () => tokenIds.filter((tokenId) => waiting.get(tokenId)?.group === group);
    await answerWithin(lastLookMs, () => lookUp(leftOf()));
    for (const tokenId of leftOf()) settle(tokenId, undefined);
  }

  function begin(tokenId: string, group: Group): Waiting {
    group.left += 1;
    const entry: Waiting = { state: 'sent', group, ...Promise.withResolvers<Heard>() };
    waiting.set(tokenId, entry);
    return entry;
  }

  function waitForAll(tokenIds: readonly string[], waitMs: number): Promise<Heard>[] {
    const group: Group = { left: 0 };
    const entries = tokenIds.map((tokenId) => waiting.get(tokenId) ?? begin(tokenId, group));
    if (group.left > 0) group.timer = setTimeout(() => void giveUp(tokenIds, group), waitMs);
    return entries.map(({ promise }) => promise);
  }

  return {
    waitForAll,
    isWaitedFor: (tokenId) => waiting.has(tokenId),
    fail: (tokenId, reason) => take(tokenId)?.reject(reason),
    accepted: (tokenId) => {
      const entry = waiting.get(tokenId);
      if (entry) entry.state = 'accepted';
    },
    settle: (reply) => settle(reply.tokenId, reply),
    lookUpAll: async () => {
      if (waiting.size > 0) await lookUp([...waiting.keys()]);
    },
  };
}

/** Verifies a stored stamp before it becomes an answer. Returns undefined if it does not verify. */
export interface StoredStampJudge {
  storedReplyOf(stamp: StoredStamp): Promise<StampedReply | undefined>;
}

type OutputPlace = NonNullable<StampedReply['output']>;

/**
 * Creates a function that looks for stamps in the store and verifies them (V9). A stamp that does not verify counts as missing; its `verify_url`
 * shows the reason. The stamp of an output counts as found only when the output has its number. It is not verified, because the answer contains only
 * the output's ids and number.
 */
export function createReplyLookup(deps: {
  stamps: Pick<StampStore, 'findMany'>;
  outputs: Pick<OutputStore, 'findByTokens'>;
  stampJudge: StoredStampJudge;
}) {
  const { stamps, outputs, stampJudge } = deps;

  async function replyOf(stamp: StoredStamp, output: OutputPlace | undefined): Promise<StampReply | undefined> {
    if (stamp.caller.kind === 'workflow') return output && { ...stampedReplyOf(stamp), output };
    // There may be many stamps and each verification takes time, so other work gets a turn before each.
    await turn();
    return stampJudge.storedReplyOf(stamp);
  }

  return async (tokenIds: readonly string[]): Promise<StampReply[]> => {
    const stored = await stamps.findMany(tokenIds);
    const ofWorkflows = stored.filter(({ caller }) => caller.kind === 'workflow').map(({ tokenId }) => tokenId);
    const numbered = new Map(
      (ofWorkflows.length > 0 ? await outputs.findByTokens(ofWorkflows) : []).map(({ tokenId, outputId, sequenceNumber }) => [
        tokenId,
        { outputId, sequenceNumber },
      ]),
    );
    const replies: StampReply[] = [];
    for (const stamp of stored) {
      const reply = await replyOf(stamp, numbered.get(stamp.tokenId));
      if (reply) replies.push(reply);
    }
    return replies;
  };
}
