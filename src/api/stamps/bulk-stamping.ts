import { randomUUIDv7 } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import type { AcceptedStamp, StampOrder, StampToken } from '../../shared/contract/stamp.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { idInSeries } from '../../shared/domain/stamp-id.ts';
import type { Acceptance } from '../../shared/queue/open-queue.ts';
import type { StampItem } from '../../shared/queue/stamp-job.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import { startDeadline, storeBefore } from './deadline.ts';
import { type Idempotency, type IdempotentRequest, type PassLimit, passLimitOnce } from './idempotency.ts';
import { acceptAllAndWait, acceptAllPromised, type Heard, type Promised } from './reply-waiter.ts';
import { acceptedAnswerOf, judgedReplyOf, type Requester, type StampingDeps, stampAnswerOf } from './stamping.ts';

/** The outcome of one item: a result, or the error that prevented it. */
export type Outcome<Made> = { readonly made: Made } | { readonly error: ServiceError };

/** An item that was accepted, for a client that does not wait. */
export interface OnItsWay<Accepted> {
  readonly accepted: Accepted;
}

/** The outcomes of a bulk request, in the order of its entries. Each promise resolves as soon as the outcome is known. */
export interface BulkOutcomes<Made, Told = Outcome<Made>> {
  readonly outcomes: readonly Promise<Told>[];
  /** Whether an earlier request had the same idempotency key. */
  readonly isReplayed: boolean;
}

export interface BulkCommand extends Requester {
  /** The valid items, each with its index in the request. None of them has content. */
  readonly entries: readonly { readonly index: number; readonly order: StampOrder }[];
}

/** Turns a ServiceError into an outcome. @throws every other error */
function asError(error: unknown): { readonly error: ServiceError } {
  if (error instanceof ServiceError) return { error };
  throw error;
}

/** Turns a promise of a result into a promise of its outcome. It rejects only with an error that is not a ServiceError. */
export const asOutcome = <Made>(made: Promise<Made>): Promise<Outcome<Made>> => made.then((stamp) => ({ made: stamp }), asError);

/** Like `asOutcome`, for an item that may still be unfinished: without a reply it is only accepted. */
export const asAcceptance = <Made, Accepted>(
  promised: Promise<Promised>,
  told: { readonly made: (heard: Heard) => Made; readonly accepted: (acceptance: Acceptance) => Accepted },
): Promise<OnItsWay<Accepted> | Outcome<Made>> =>
  promised
    .then(({ acceptance, reply }) => (reply ? { made: told.made({ reply, isAccepted: true }) } : { accepted: told.accepted(acceptance) }))
    .catch(asError);

/** Returns the id of a bulk request. The ids of its items are derived from it, so a repeated request gets the same ids (L2). */
export async function identifyBulk(
  idempotency: Idempotency,
  keyed: IdempotentRequest | undefined,
  passLimit: PassLimit | undefined,
): Promise<{ bulkId: string; isRepeated: boolean }> {
  const freshId = randomUUIDv7();
  await passLimitOnce(idempotency, passLimit, keyed);
  if (keyed === undefined) return { bulkId: freshId, isRepeated: false };
  const { resourceId, isRepeated } = await idempotency.bind(keyed, freshId);
  return { bulkId: resourceId, isRepeated };
}

/**
 * Stamps many hashes for one request (L1). If the queue has no room for all of them, nothing is accepted. Otherwise each succeeds or fails on its
 * own, with the errors of `Stamping.stamp`.
 *
 * @throws ServiceError `rate_limited`, `idempotency_key_reused`, `overloaded`, `queue_unavailable`, `store_unavailable`: nothing was accepted
 */
export type StampMany = (command: BulkCommand) => Promise<BulkOutcomes<StampToken>>;

/**
 * Like `StampMany`, but after the items are accepted it waits at most `patienceMs` for stamps (N1). Items without a stamp by then are only accepted.
 * @throws the same ServiceErrors as `StampMany`
 */
export type AcceptMany = (
  command: BulkCommand,
  patienceMs: number,
) => Promise<BulkOutcomes<StampToken, Outcome<StampToken> | OnItsWay<AcceptedStamp>>>;

export interface BulkStamping {
  readonly stampMany: StampMany;
  readonly acceptMany: AcceptMany;
}

export function createBulkStamping(
  deps: Pick<StampingDeps, 'queue' | 'writes' | 'waiter' | 'stamps' | 'stampJudge' | 'idempotency' | 'makeItem' | 'clock' | 'waitMs'>,
): BulkStamping {
  const { queue, writes, waiter, stamps, stampJudge, idempotency, makeItem, clock, waitMs } = deps;

  /** The outcomes for stamps that an earlier request made. They are verified one after the other, because each verification takes time. */
  function replay(existing: readonly { readonly order: StampOrder; readonly stored: StoredStamp }[]): Promise<Outcome<StampToken>>[] {
    let before: Promise<unknown> = Promise.resolve();
    return existing.map(({ order, stored }) => {
      const judged = before.then(turn).then(async () => {
        const reply = await judgedReplyOf(stampJudge, stored);
        return stampAnswerOf(order, stored.tokenId, undefined, { reply, isAccepted: true });
      });
      before = judged.catch(() => undefined);
      return asOutcome(judged);
    });
  }

  /** Finds out which stamps a request still needs, and which exist already. */
  async function begin(command: BulkCommand, begunAt: number) {
    const { entries, callerId: caller, idempotencyKey: key, passLimit } = command;
    queue.checkCapacity(caller, entries.length);
    writes.checkStore();
    const keyed = key === undefined ? undefined : { caller, key, operation: 'stamps', content: entries };
    const { bulkId, isRepeated } = await identifyBulk(idempotency, keyed, passLimit);
    const orders = new Map(entries.map(({ index, order }) => [idInSeries(bulkId, index), order]));
    const stored = isRepeated ? await stamps.findMany([...orders.keys()]) : [];
    const existing = stored.flatMap((stamp) => {
      const order = orders.get(stamp.tokenId);
      return order ? [{ order, stored: stamp }] : [];
    });
    const known = new Set(stored.map(({ tokenId }) => tokenId));
    const fresh = [...orders].filter(([tokenId]) => !known.has(tokenId));
    const items = await Promise.all(fresh.map(([tokenId, order]) => makeItem(order, tokenId, { ...command, begunAt })));
    return { orders, items, existing, isReplayed: isRepeated };
  }

  /** Puts the outcomes of new and existing stamps into the order of the request. */
  function inOrder<Told>(
    { orders, items, existing, isReplayed }: Awaited<ReturnType<typeof begin>>,
    told: readonly Promise<Told>[],
  ): BulkOutcomes<StampToken, Told | Outcome<StampToken>> {
    const byId = new Map<string, Promise<Told | Outcome<StampToken>>>();
    for (const [index, { tokenId }] of items.entries()) byId.set(tokenId, told[index]!);
    for (const [index, outcome] of replay(existing).entries()) byId.set(existing[index]!.stored.tokenId, outcome);
    return { outcomes: [...orders.keys()].map((tokenId) => byId.get(tokenId)!), isReplayed };
  }

  async function stampMany(command: BulkCommand): Promise<BulkOutcomes<StampToken>> {
    const deadline = startDeadline({ clock, waitMs });
    const begun = await storeBefore(deadline, () => begin(command, deadline.begunAt));
    const { orders, items } = begun;
    const answerOf = (heard: Promise<Heard>, { tokenId }: StampItem) =>
      heard.then((outcome) => stampAnswerOf(orders.get(tokenId)!, tokenId, undefined, outcome));
    const ends = { queue, waiter, callerId: command.callerId, deadline };
    const made = await acceptAllAndWait(ends, items, (heard, item) => asOutcome(answerOf(heard, item)));
    return inOrder(begun, made);
  }

  async function acceptMany(command: BulkCommand, patienceMs: number) {
    const deadline = startDeadline({ clock, waitMs });
    const begun = await storeBefore(deadline, () => begin(command, deadline.begunAt));
    const { orders, items } = begun;
    const accepted = await acceptAllPromised({ queue, waiter, callerId: command.callerId, deadline }, items, patienceMs);
    return inOrder(
      begun,
      items.map(({ tokenId }, index) =>
        asAcceptance(accepted[index]!, {
          made: (heard) => stampAnswerOf(orders.get(tokenId)!, tokenId, undefined, heard),
          accepted: (said) => acceptedAnswerOf(orders.get(tokenId)!, tokenId, undefined, said),
        }),
      ),
    );
  }

  return { stampMany, acceptMany };
}
