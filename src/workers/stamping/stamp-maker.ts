import { ServiceError } from '../../shared/domain/service-error.ts';
import { digestCharacters, type Proof, type RequestFault, timeOfId } from '../../shared/domain/stamp.ts';
import { isForPromisedQueue, type StampItem, type TimeStampReqFields } from '../../shared/queue/jobs.ts';
import { withoutCertificates } from '../../shared/rfc3161/index.ts';
import type { StampTally } from '../../shared/store/counters.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import { storedProductOf } from '../../shared/store/stamps.ts';
import {
  RateReachedError,
  type RequestParameters,
  TierUnavailableError,
  TimeUnavailableError,
  TsaRefusedError,
} from '../providers/index.ts';
import type { WorkerTools } from '../tools.ts';

/**
 * `tier_unavailable`: no provider makes qualified stamps now (W19). `request_refused`: every TSA refused the client's request;
 * `fault` is the TSA's reason, if it gives one.
 */
interface RefusedItem {
  readonly item: StampItem;
  readonly code: 'tier_unavailable' | 'request_refused';
  readonly fault?: RequestFault | undefined;
}

/** `time_unavailable`: the clock of the signing key is not confirmed. */
interface FailedItem {
  readonly item: StampItem;
  readonly code: 'provider_failed' | 'time_unavailable';
  /** How the item is counted if it is not retried. */
  readonly tally: StampTally;
}

interface StampsMade {
  /** The stamps that are now in the store, including those made by an earlier run or another job. */
  readonly stored: StoredStamp[];
  /** Items that no provider stamped and that are not retried. */
  readonly failed: FailedItem[];
  readonly refused: RefusedItem[];
  /** Items to retry. Those that must wait for the rate of a provider are always here. */
  readonly owed: StampItem[];
  /** When to retry, in milliseconds from now, if all owed items wait only for the rate of a provider. */
  readonly retryInMs: number | undefined;
}

/**
 * Makes the stamps of some items. Each succeeds or fails alone; the successful ones are written together. Only newly written stamps are counted.
 *
 * @throws ServiceError `store_unavailable`; another Error if an item has a fault of its own: the other stamps are written before
 */
export async function makeStamps(
  tools: WorkerTools,
  given: readonly StampItem[],
  {
    mayExist,
    isFinal = () => true,
  }: {
    /** Whether an earlier run or another job may have made some of the stamps. Then they are looked up first, so that no stamp is paid twice. */
    readonly mayExist: boolean;
    /**
     * Whether a failed item is given up instead of retried; default: given up. Called once for each item without a stamp, except for a request that
     * every TSA refused or no provider can make qualified (never retried) and a stamp that must wait for the rate of a provider (always retried).
     */
    readonly isFinal?: (item: StampItem) => boolean;
  },
): Promise<StampsMade> {
  const items = distinct(given);
  const startedAt = performance.now();
  const known = mayExist ? await tools.store.stamps.findMany(items.map(({ tokenId }) => tokenId)) : [];
  const knownIds = new Set(known.map(({ tokenId }) => tokenId));
  const settled = await Promise.allSettled(items.filter(({ tokenId }) => !knownIds.has(tokenId)).map((item) => attempt(tools, item)));
  const attempts = settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  const stamped = attempts.filter((made) => made.outcome === 'stamped');
  const [final, postponed] = partition(
    attempts.filter(({ outcome }) => outcome !== 'stamped'),
    (made) => isForGood(made) || (made.outcome !== 'rate_reached' && isFinal(made.item)),
  );
  const owed = postponed.map(({ item }) => item);
  const late = postponed.flatMap((made) => (made.outcome === 'rate_reached' ? made.retryInMs : []));
  const retryInMs = late.length > 0 && late.length === owed.length ? Math.min(...late) : undefined;
  const failed = final.filter((made) => made.outcome === 'failed').map(({ item, code }) => ({ item, code, tally: tallyOf(tools, item) }));
  const refused = refusalsIn(final);
  const stored = await Promise.all(stamped.map(({ item, proof }) => insert(tools, item, proof)));
  // Thrown only now, after the other stamps are stored, so that they are not requested again.
  for (const one of settled) if (one.status === 'rejected') throw one.reason;
  const requestIds = [...new Set(items.map(({ requestId }) => requestId))];
  const hasFailed = attempts.some(({ outcome }) => outcome === 'failed');
  tools.log[hasFailed ? 'warn' : 'info'](
    {
      outcome: hasFailed ? 'failed' : refused.length > 0 ? 'refused' : 'done',
      requestIds,
      stamped: stamped.length,
      known: known.length,
      failed: failed.length,
      refused: refused.length,
      owed: owed.length,
      durationMs: Math.round(performance.now() - startedAt),
    },
    'finished a stamp job',
  );
  return { stored: [...known, ...stored], failed, refused, owed, retryInMs };
}

type Attempt =
  | { readonly item: StampItem; readonly outcome: 'stamped'; readonly proof: Proof }
  | ({ readonly outcome: 'failed' } & Omit<FailedItem, 'tally'>)
  /** The stamp must be made later. */
  | { readonly item: StampItem; readonly outcome: 'rate_reached'; readonly retryInMs: number }
  | { readonly item: StampItem; readonly outcome: 'tier_unavailable'; readonly isPassing: boolean }
  | { readonly item: StampItem; readonly outcome: 'request_refused'; readonly fault: RequestFault | undefined };

/** Whether a retry is useless: only another request, another configuration or another TSA could help. */
const isForGood = (made: Attempt): boolean =>
  made.outcome === 'request_refused' || (made.outcome === 'tier_unavailable' && !made.isPassing);

const refusalsIn = (attempts: readonly Attempt[]): RefusedItem[] =>
  attempts.flatMap((made): RefusedItem[] => {
    if (made.outcome === 'tier_unavailable') return [{ item: made.item, code: made.outcome }];
    return made.outcome === 'request_refused' ? [{ item: made.item, code: made.outcome, fault: made.fault }] : [];
  });

function storedStampOf(
  { tokenId, imprint, tier, caller, acceptedAt, requestId, metadata, paymentClaim, sealed, asked }: StampItem,
  proof: Proof,
): StoredStamp {
  return {
    tokenId,
    imprint,
    proofs: [proof],
    tier,
    caller,
    acceptedAt: new Date(acceptedAt),
    requestId,
    metadata,
    paymentClaim,
    sealed,
    ...(asked?.omitsCertificates &&
      proof.kind === 'token' && { tokenAsSent: withoutCertificates(Buffer.from(proof.token, 'base64')).toString('base64') }),
  };
}

const parametersOf = ({ nonce, policy, hasNullParameters = false }: TimeStampReqFields): RequestParameters => ({
  nonce: nonce === undefined ? undefined : BigInt(nonce),
  policy,
  hasNullParameters,
});

/** Removes duplicates: if a client sent a request twice at the same time, a job may contain it twice. It gets one stamp. */
const distinct = (items: readonly StampItem[]): StampItem[] => [
  ...new Map(items.toReversed().map((item) => [item.tokenId, item])).values(),
];

async function attempt({ provider, log }: WorkerTools, item: StampItem): Promise<Attempt> {
  const { tokenId, imprint, tier, requiresQualified = false, caller } = item;
  // Promised outputs are in jobs with stamps that callers wait for (W8), so they must not delay these.
  const isPromised = isForPromisedQueue(item);
  const asked = item.asked && parametersOf(item.asked);
  if (imprint.digest.length !== digestCharacters[imprint.algorithm])
    throw new Error(`the digest of ${tokenId} is not a ${imprint.algorithm}`);
  try {
    return {
      item,
      outcome: 'stamped',
      proof: await provider.stamp({ tokenId, imprint, tier, requiresQualified, callerKind: caller.kind, asked, isPromised }),
    };
  } catch (error) {
    // The mock provider's key is in the store: while the store is down, the job is retried without counting a failure.
    if (error instanceof ServiceError) throw error;
    const subject = { requestId: item.requestId, tokenId };
    if (error instanceof RateReachedError) {
      log.debug({ ...subject, reason: error.message }, 'the stamp must wait');
      return { item, outcome: 'rate_reached', retryInMs: error.retryInMs };
    }
    if (error instanceof TierUnavailableError || error instanceof TsaRefusedError) {
      const code = error instanceof TsaRefusedError ? 'request_refused' : 'tier_unavailable';
      log.info({ ...subject, outcome: 'refused', code, reason: error.message }, 'the stamp was refused');
      return error instanceof TsaRefusedError
        ? { item, outcome: 'request_refused', fault: error.fault }
        : { item, outcome: 'tier_unavailable', isPassing: error.isPassing };
    }
    const code = error instanceof TimeUnavailableError ? 'time_unavailable' : 'provider_failed';
    log.warn({ ...subject, code, err: error }, 'no provider made the stamp');
    return { item, outcome: 'failed', code };
  }
}

const tallyOf = ({ provider, clock }: WorkerTools, item: StampItem, proof?: Proof): StampTally => ({
  idMadeAt: timeOfId(item.tokenId),
  provider: proof?.provider ?? provider.name,
  isQualified: proof?.isQualified ?? provider.isQualified,
  callerKind: item.caller.kind,
  product: storedProductOf(item.caller, item.imprint),
  outcome: proof ? 'stamped' : 'failed',
  latencyMs: clock() - item.acceptedAt,
});

async function insert(tools: WorkerTools, item: StampItem, proof: Proof): Promise<StoredStamp> {
  const { stored, isNew } = await tools.stampInserts.add(storedStampOf(item, proof));
  if (isNew) tools.store.counters.addStamps([tallyOf(tools, item, proof)]);
  return stored;
}

function partition<T>(values: readonly T[], isFirst: (value: T) => boolean): [first: T[], second: T[]] {
  const { first = [], second = [] } = Object.groupBy(values, (value) => (isFirst(value) ? 'first' : 'second'));
  return [first, second];
}
