import { ServiceError } from '../../shared/domain/service-error.ts';
import { idInSeries } from '../../shared/domain/stamp.ts';
import type { StampedReply, StampItem } from '../../shared/queue/jobs.ts';
import { identify, type PassLimit } from './idempotency.ts';
import { handled, type Outcome, type StampTools, startDeadline, storeBefore } from './submission.ts';

/** A request for one stamp or many. Its orders satisfy their contract. */
export interface StampingRequest<Order> {
  /** The orders, each with its index in the request. In a bulk request, the ids of the stamps are derived from its id and these indexes (L2). */
  readonly entries: readonly { readonly index: number; readonly order: Order }[];
  readonly isBulk?: boolean;
  /** The owner of a share of the queue: a product, or an address. */
  readonly callerId: string;
  readonly requestId: string;
  /** The time that the request has spent before; it counts as waiting. */
  readonly spentMs?: number;
  /** The time that its contents may be on their way to the store; it does not count as waiting. */
  readonly extraMs?: number;
  readonly idempotencyKey: string | undefined;
  readonly passLimit?: PassLimit;
  /** Only for a caller who is content with a promise: see `SubmitOptions`. */
  readonly patienceMs?: number | undefined;
}

export interface NamedOrder<Order> {
  readonly order: Order;
  readonly tokenId: string;
  /** Makes the secret for sealed content. A repeated request gets the same. */
  readonly secret: () => string;
}

/** How stamps and outputs of workflows differ. */
interface Recipe<Order, Made, Addresses> {
  /** The owner of the idempotency keys, and what must be equal in a repeated request. Each kind of request has its own keys. */
  readonly identity: { readonly caller: string; readonly operation: string; readonly content: unknown };
  /** What an earlier request with the same key has made, by the ids of the stamps. */
  readonly findMade: (named: readonly NamedOrder<Order>[]) => Promise<ReadonlyMap<string, Promise<Made>>>;
  /** Checks whether so many new items can be accepted now. @throws ServiceError */
  readonly checkReady?: (count: number) => Promise<void>;
  readonly itemOf: (named: NamedOrder<Order>, begunAt: number) => Promise<StampItem>;
  readonly madeOf: (named: NamedOrder<Order>, reply: StampedReply) => Made;
  readonly failureOf: (tokenId: string, failed: FailedOutcome) => ServiceError;
  /** Where the outcome can be read later. An address is null if there is none. */
  readonly addressesOf: (named: NamedOrder<Order>) => Addresses;
  /** The sentences for an item that is accepted and not finished in time, and for one that is perhaps accepted. */
  readonly pending: { readonly accepted: string; readonly unconfirmed: string };
}

export type FailedOutcome = Extract<Outcome, { state: 'failed' }>;

/** What is answered about one order. `accepted`: only to a caller who is content with a promise. */
export type Answer<Made = object, Accepted = object> = { readonly made: Made } | { readonly accepted: Accepted };

/** The answers to a request, in its order. Each promise settles as soon as its answer is known. */
export interface Answers<Made = object, Accepted = object> {
  readonly answers: readonly Promise<Answer<Made, Accepted>>[];
  /** Whether an earlier request had the same idempotency key. */
  readonly isReplayed: boolean;
}

/**
 * Fulfils a request for one stamp or many: it identifies the request, submits the items that no earlier request has made, and turns each outcome into
 * an answer. An answer rejects with ServiceError `stamp_pending` if its item was accepted, or perhaps was, and is not finished in time (E11).
 *
 * @throws ServiceError `store_unavailable` if the store takes too long; the errors of `identify`, `checkReady`, `itemOf` and `submit`
 */
export async function fulfilRequest<Order, Made, Addresses extends object>(
  tools: StampTools,
  request: StampingRequest<Order>,
  recipe: Recipe<Order, Made, Addresses>,
): Promise<Answers<Made, { token_id: string; status: 'accepted' } & Addresses>> {
  const { callerId, patienceMs } = request;
  const deadline = startDeadline(tools, request.spentMs, request.extraMs);
  const { named, made, items, isReplayed } = await storeBefore(deadline, () => begin(tools, request, recipe, deadline.begunAt));
  const submitted = items.length > 0 ? await tools.submission.submit(items, { callerId, deadline, patienceMs }) : [];
  const outcomes = new Map(items.map(({ tokenId }, place) => [tokenId, submitted[place]!]));

  const answers = named.map(async (one) => {
    const known = made.get(one.tokenId);
    if (known) return { made: await storeBefore(deadline, () => known) };
    const outcome = await outcomes.get(one.tokenId)!;
    if (outcome.state === 'stamped') return { made: recipe.madeOf(one, outcome.reply) };
    if (outcome.state === 'failed') throw recipe.failureOf(one.tokenId, outcome);
    const { tokenId: token_id } = one;
    const addresses = recipe.addressesOf(one);
    if (outcome.state === 'accepted' && patienceMs !== undefined)
      return { accepted: { token_id, status: 'accepted' as const, ...addresses } };
    const shown = Object.fromEntries(Object.entries(addresses).filter(([, address]) => address !== null));
    throw new ServiceError('stamp_pending', recipe.pending[outcome.state], { retryAfterSeconds: 5, members: { token_id, ...shown } });
  });
  return { answers: answers.map(handled), isReplayed };
}

/** Identifies the request, finds what an earlier one with the same key has made, and makes the items of the other orders. All this needs the store. */
async function begin<Order, Made, Addresses>(
  tools: StampTools,
  { entries, isBulk, idempotencyKey: key, passLimit }: StampingRequest<Order>,
  { identity, findMade, checkReady, itemOf }: Recipe<Order, Made, Addresses>,
  begunAt: number,
) {
  const { resourceId, isRepeated, secret } = await identify(tools, { ...identity, key, passLimit });
  const named = entries.map(({ index, order }) => ({ secret, order, tokenId: isBulk ? idInSeries(resourceId, index) : resourceId }));
  const made: ReadonlyMap<string, Promise<Made>> = isRepeated ? await findMade(named) : new Map();
  made.forEach(handled);
  const missing = named.filter(({ tokenId }) => !made.has(tokenId));
  if (missing.length > 0 || entries.length === 0) await checkReady?.(missing.length);
  const items = await Promise.all(missing.map((one) => itemOf(one, begunAt)));
  return { named, made, items, isReplayed: isRepeated };
}
