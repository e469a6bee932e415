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
  /** What is stored of the items, whoever wrote it first. */
  readonly stored: StoredStamp[];
  /** The items for which no provider could make a stamp, and which are done with. */
  readonly failed: StampItem[];
  /** Those that no configured provider may make, so that none was asked (W19). */
  readonly refused: StampItem[];
  /** Those that have to be tried again. */
  readonly owed: StampItem[];
}

/**
 * Makes the stamps of some items: each succeeds or fails alone, and all that succeed are written together. A job that was
 * started before asks first what is stored, so that no provider is paid twice.
 *
 * @throws ServiceError `store_unavailable`
 */
export type MakeStamps = (
  items: readonly StampItem[],
  run: Pick<JobRun, 'isRetry'> & {
    /** Whether a failure of the item is its end, and is counted; asked once; default: always. */
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

/** A request that was sent twice at the same time may stand in a batch twice: it makes one stamp, the first. */
const distinct = (items: readonly StampItem[]): StampItem[] => [
  ...new Map(items.toReversed().map((item) => [item.tokenId, item])).values(),
];

/** Jobs whose writes wait for those of others travel together: one insert and, meanwhile, one update of the counters. */
const mostJobsTogether = 64;

/** Milliseconds that a reply waits for the counters. */
const longestCountingMs = 400;

interface Made {
  readonly stamp: StoredStamp;
  readonly tally: StampTally;
}

interface JobWrites {
  readonly made: readonly Made[];
  /** What is stored of them, in their order; set when they were written. */
  stored: readonly StoredStamp[];
}

export function createStampMaker({ provider, stamps, counters, clock, log }: StampMakerDeps): MakeStamps {
  async function attempt(item: StampItem): Promise<Attempt> {
    const { tokenId, imprint, tier, requiresQualified = false } = item;
    try {
      return { item, outcome: 'stamped', proof: await provider.stamp({ tokenId, imprint, tier, requiresQualified }) };
    } catch (error) {
      // The mock provider's key is in the store: while that is away the job waits, and nothing has failed.
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
   * Counts while it writes, since nearly every stamp is new: what was there already, or could not be written, is taken back. Who waits
   * for a stamp does not wait for figures that cannot be counted.
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
      // Two jobs may bring the same stamp: one of them added it.
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
