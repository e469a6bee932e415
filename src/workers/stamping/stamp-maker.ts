import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Proof } from '../../shared/domain/stamp.ts';
import type { JobRun } from '../../shared/queue/jobs.ts';
import type { StampItem } from '../../shared/queue/stamp-job.ts';
import { answerWithin } from '../../shared/runtime/answer-within.ts';
import { createBatcher } from '../../shared/runtime/batcher.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { CounterStore, StampTally } from '../../shared/store/counters.ts';
import type { StampStore, StoredStamp } from '../../shared/store/stamps.ts';
import { TierUnavailableError, type TimestampProvider } from '../providers/provider.ts';

export interface StampMakerDeps {
  readonly provider: TimestampProvider;
  readonly stamps: StampStore;
  readonly counters: CounterStore;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface StampsMade {
  /** The stamps in the store, also those that another run of the job wrote. */
  readonly stored: StoredStamp[];
  /** Items that every provider failed to stamp; they will not be tried again. */
  readonly failed: StampItem[];
  /** Items that no configured provider may stamp, so none was asked (W19). */
  readonly refused: StampItem[];
  /** Items that have to be tried again. */
  readonly owed: StampItem[];
}

/**
 * Makes the stamps of some items. Each succeeds or fails alone; all that succeed are written in one insert. A retried job first looks for
 * stamps that it has already stored, so that no provider is paid twice.
 *
 * @throws ServiceError `store_unavailable`
 */
export type MakeStamps = (
  items: readonly StampItem[],
  run: Pick<JobRun, 'isRetry'> & {
    /**
     * Whether an item that failed is given up and counted as failed, or is to be tried again. Asked once for each item; default: given
     * up.
     */
    readonly isFinal?: (item: StampItem) => boolean;
  },
) => Promise<StampsMade>;

type Attempt =
  | { readonly item: StampItem; readonly outcome: 'stamped'; readonly proof: Proof }
  | { readonly item: StampItem; readonly outcome: 'failed' | 'refused'; readonly proof?: undefined };

function stampOf(
  { tokenId, imprint, tier, caller, acceptedAt, requestId, metadata, paymentClaim, sealed }: StampItem,
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
    metadata: metadata && JSON.stringify(metadata),
    paymentClaim,
    sealed,
  };
}

/** The same request, sent twice at the same time, can be in a batch twice. It gets one stamp. */
const distinct = (items: readonly StampItem[]): StampItem[] => [
  ...new Map(items.toReversed().map((item) => [item.tokenId, item])).values(),
];

/**
 * Jobs that finish while another write is under way are written together, at most this many: one insert, and beside it one update of the
 * counters.
 */
const mostJobsTogether = 64;

/** How long a reply waits for the counters, milliseconds. */
const longestCountingMs = 400;

interface Made {
  readonly stamp: StoredStamp;
  readonly tally: StampTally;
}

interface JobWrites {
  readonly made: readonly Made[];
  /** The stored stamps in the order of the items; set once they are written. */
  stored: readonly StoredStamp[];
}

export function createStampMaker({ provider, stamps, counters, clock, log }: StampMakerDeps): MakeStamps {
  async function attempt(item: StampItem): Promise<Attempt> {
    const { tokenId, imprint, tier, requiresQualified = false } = item;
    try {
      return { item, outcome: 'stamped', proof: await provider.stamp({ tokenId, imprint, tier, requiresQualified }) };
    } catch (error) {
      // The mock provider's key is in the store: while that is away, the job is tried again and counts as no failure.
      if (error instanceof ServiceError) throw error;
      const isRefused = error instanceof TierUnavailableError;
      log.warn(
        { err: error, requestId: item.requestId, tokenId },
        isRefused ? 'the stamp was refused' : 'the provider could not make the stamp',
      );
      return { item, outcome: isRefused ? 'refused' : 'failed' };
    }
  }

  const tallyOf = (item: StampItem, proof?: Proof): StampTally => ({
    finishedAt: clock(),
    provider: proof?.provider ?? provider.name,
    isQualified: proof?.isQualified ?? provider.isQualified,
    callerKind: item.caller.kind,
    product: item.caller.product,
    outcome: proof ? 'stamped' : 'failed',
    latencyMs: proof && clock() - item.acceptedAt,
  });

  async function count(tallies: StampTally[], write: (tallies: StampTally[]) => Promise<void>): Promise<void> {
    try {
      if (tallies.length > 0) await write(tallies);
    } catch (error) {
      log.error({ err: error, stamps: tallies.length }, 'the counters are wrong by some stamps: repair them');
    }
  }

  /**
   * Counts at the same time as it writes, since nearly every stamp is new. What turns out to be stored already, or could not be written,
   * is subtracted again. A caller does not wait long for the counters.
   */
  const writing = createBatcher<JobWrites>({
    maxItems: mostJobsTogether,
    flush: async (jobs) => {
      const made = jobs.flatMap((job) => job.made);
      const tallies = made.map(({ tally }) => tally);
      const isCounted = counters.add(tallies).then(
        () => true,
        () => false,
      );
      const putRight = async (isNew: readonly boolean[]) => {
        const wasCounted = await isCounted;
        const wrong = tallies.filter((_, index) => isNew[index] !== wasCounted);
        await count(wrong, wasCounted ? counters.takeBack : counters.add);
      };
      const finishCounting = (isNew: readonly boolean[]) => answerWithin(longestCountingMs, () => putRight(isNew));

      const { stored, added } = await stamps.insertOnce(made.map(({ stamp }) => stamp)).catch(async (error) => {
        await finishCounting(made.map(() => false));
        throw error;
      });
      const addedIds = new Set(added.map(({ tokenId }) => tokenId));
      // Two jobs in this batch may hold the same stamp; it was added, and counts, once.
      await finishCounting(made.map(({ stamp }) => addedIds.delete(stamp.tokenId)));

      const storedById = new Map(stored.map((stamp) => [stamp.tokenId, stamp]));
      for (const job of jobs) job.stored = job.made.flatMap(({ stamp }) => storedById.get(stamp.tokenId) ?? []);
    },
  });

  return async (given, { isRetry, isFinal = () => true }) => {
    const items = distinct(given);
    const startedAt = clock();
    const known = isRetry ? await stamps.findMany(items.map(({ tokenId }) => tokenId)) : [];
    const knownIds = new Set(known.map(({ tokenId }) => tokenId));
    const attempts = await Promise.all(items.filter(({ tokenId }) => !knownIds.has(tokenId)).map(attempt));

    const stamped = attempts.filter((made) => made.outcome === 'stamped');
    const [final, postponed] = partition(
      attempts.filter(({ outcome }) => outcome !== 'stamped'),
      ({ item }) => isFinal(item),
    );
    const owed = postponed.map(({ item }) => item);
    const failed = final.filter(({ outcome }) => outcome === 'failed').map(({ item }) => item);
    const refused = final.filter(({ outcome }) => outcome === 'refused').map(({ item }) => item);
    const job: JobWrites = {
      made: stamped.map(({ item, proof }) => ({ stamp: stampOf(item, proof), tally: tallyOf(item, proof) })),
      stored: [],
    };
    if (stamped.length > 0) await writing.add(job);
    const failures = failed.map((item) => tallyOf(item));
    await answerWithin(longestCountingMs, () => count(failures, counters.add));
    const requestIds = [...new Set(items.map(({ requestId }) => requestId))];
    log.info(
      {
        requestIds,
        stamped: stamped.length,
        known: known.length,
        failed: failed.length,
        refused: refused.length,
        owed: owed.length,
        durationMs: clock() - startedAt,
      },
      'stamped',
    );
    return { stored: [...known, ...job.stored], failed, refused, owed };
  };
}

function partition<T>(values: readonly T[], isFirst: (value: T) => boolean): [first: T[], second: T[]] {
  const { first = [], second = [] } = Object.groupBy(values, (value) => (isFirst(value) ? 'first' : 'second'));
  return [first, second];
}
