import type { Clock } from '../shared/clock.ts';
import { ServiceError } from '../shared/errors.ts';
import type { Logger } from '../shared/log.ts';
import type { Evidence, TimestampProvider } from '../shared/providers/provider.ts';
import { createBatcher } from '../shared/queue/batcher.ts';
import type { JobRun } from '../shared/queue/jobs.ts';
import type { StampItem } from '../shared/queue/stamp-job.ts';
import type { CounterStore, StampTally } from '../shared/store/counters.ts';
import { type StampRecord, type StampStore, stampRecordOf } from '../shared/store/stamps.ts';

export interface StampMakerDeps {
  readonly provider: TimestampProvider;
  readonly stamps: StampStore;
  readonly counters: CounterStore;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface StampsMade {
  /** What is stored of the items, whoever wrote it first. */
  readonly stored: StampRecord[];
  /** The items for which no provider could make a stamp. */
  readonly failed: StampItem[];
}

/**
 * Makes the stamps of some items: each succeeds or fails alone, and all that succeed are written in one insert. A job that was
 * started before asks first what is stored, so that no provider is paid twice.
 *
 * @throws ServiceError `store_unavailable`
 */
export type MakeStamps = (
  items: readonly StampItem[],
  run: Pick<JobRun, 'isRetry'> & {
    /** Whether a failure of the item is its end, and is counted; default: always. */
    readonly isFinal?: (item: StampItem) => boolean;
  },
) => Promise<StampsMade>;

type Attempt = { readonly item: StampItem; readonly evidence: Evidence } | { readonly item: StampItem; readonly evidence?: undefined };

/** A request that was sent twice at the same time may stand in a batch twice: it makes one stamp, the first. */
const distinct = (items: readonly StampItem[]): StampItem[] => [
  ...new Map(items.toReversed().map((item) => [item.tokenId, item])).values(),
];

/** Jobs whose writes wait for those of others travel together: one insert, one update of the counters. */
const mostJobsTogether = 64;

interface Insertion {
  readonly records: readonly StampRecord[];
  /** Set when the records were written. */
  stored: StampRecord[];
  addedIds: ReadonlySet<string>;
}

export function createStampMaker({ provider, stamps, counters, clock, log }: StampMakerDeps): MakeStamps {
  async function attempt(item: StampItem): Promise<Attempt> {
    const { tokenId, hash, tier, requiresQualified = false } = item;
    try {
      return { item, evidence: await provider.stamp({ tokenId, hash, tier, requiresQualified }) };
    } catch (error) {
      // The mock provider's key is in the store: while that is away the job waits, and nothing has failed.
      if (error instanceof ServiceError) throw error;
      log.warn({ err: error, requestId: item.requestId, tokenId }, 'the provider could not make the stamp');
      return { item };
    }
  }

  const tallyOf = ({ item, evidence }: Attempt): StampTally => ({
    finishedAt: clock(),
    provider: evidence?.provider ?? provider.name,
    isQualified: evidence?.isQualified ?? provider.isQualified,
    callerKind: item.caller.kind,
    product: item.caller.product,
    outcome: evidence ? 'stamped' : 'failed',
    latencyMs: evidence && clock() - item.acceptedAt,
  });

  const inserting = createBatcher<Insertion>({
    maxItems: mostJobsTogether,
    flush: async (insertions) => {
      const { stored, added } = await stamps.insertOnce(insertions.flatMap(({ records }) => records));
      const addedIds = new Set(added.map(({ _id }) => _id));
      let offset = 0;
      for (const insertion of insertions) {
        const end = offset + insertion.records.length;
        insertion.stored = stored.slice(offset, end);
        insertion.addedIds = addedIds;
        offset = end;
      }
    },
  });
  const counting = createBatcher<StampTally[]>({ maxItems: mostJobsTogether, flush: (groups) => counters.add(groups.flat()) });

  async function insert(records: readonly StampRecord[]): Promise<Insertion> {
    const insertion: Insertion = { records, stored: [], addedIds: new Set() };
    if (records.length > 0) await inserting.add(insertion);
    return insertion;
  }

  /** Whether the counters took it. */
  async function change(tallies: StampTally[], write: (tallies: StampTally[]) => Promise<void>): Promise<boolean> {
    try {
      if (tallies.length > 0) await write(tallies);
      return true;
    } catch (error) {
      log.error({ err: error, stamps: tallies.length }, 'the counters are wrong by some stamps: run their repair');
      return false;
    }
  }

  /** Writes what was stamped and counts it meanwhile, since nearly all of it is new; the rest is taken back. */
  async function insertAndCount(attempts: readonly Attempt[], isFinal: (item: StampItem) => boolean): Promise<StampRecord[]> {
    const records = attempts.flatMap(({ item, evidence }) => (evidence ? [stampRecordOf(item, evidence)] : []));
    const tallies = new Map(
      attempts.filter(({ item, evidence }) => evidence || isFinal(item)).map((made) => [made.item.tokenId, tallyOf(made)]),
    );
    const counted = change([...tallies.values()], counting.add);
    let notAdded = [...tallies.values()];
    try {
      const { stored, addedIds } = await insert(records);
      notAdded = records.filter(({ _id }) => !addedIds.has(_id)).flatMap(({ _id }) => tallies.get(_id) ?? []);
      return stored;
    } finally {
      if (await counted) await change(notAdded, counters.takeBack);
    }
  }

  return async (given, { isRetry, isFinal = () => true }) => {
    const items = distinct(given);
    const startedAt = clock();
    const known = isRetry ? await stamps.findMany(items.map(({ tokenId }) => tokenId)) : [];
    const knownIds = new Set(known.map(({ _id }) => _id));
    const attempts = await Promise.all(items.filter(({ tokenId }) => !knownIds.has(tokenId)).map(attempt));

    const stored = await insertAndCount(attempts, isFinal);
    const failed = attempts.filter(({ evidence }) => !evidence).map(({ item }) => item);
    const requestIds = [...new Set(items.map(({ requestId }) => requestId))];
    log.info(
      { requestIds, stamped: attempts.length - failed.length, known: known.length, failed: failed.length, durationMs: clock() - startedAt },
      'stamped',
    );
    return { stored: [...known, ...stored], failed };
  };
}
