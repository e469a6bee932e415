import { randomInt } from 'node:crypto';
import type { AnyBulkWriteOperation, Collection, Db } from 'mongodb';
import type { CallerKind } from '../domain/caller.ts';
import { quantile } from '../domain/latency-histogram.ts';
import { maxTimeMS } from './connection.ts';
import {
  type ActivityTotals,
  type Change,
  type CounterRecord,
  changesOf,
  changesOfActivity,
  counterShards,
  hoursUntil,
  latenciesOf,
  lifetimeId,
  productId,
  type StampTally,
  shardedId,
  shardIdsOf,
  totalsOf,
} from './counter-rows.ts';
import { inStore } from './errors.ts';
import type { StampSummary } from './stamps.ts';

export { type Activity, type ActivityTotals, type StampTally, utcDay } from './counter-rows.ts';

/** What a stored stamp counts for, when the counters are made anew. Its latency is not known any more. */
export const tallyOfRecord = ({ issuedAt, provider, isQualified, caller }: StampSummary): StampTally => ({
  finishedAt: Date.parse(issuedAt),
  provider,
  isQualified,
  callerKind: caller.kind,
  product: caller.product,
  outcome: 'stamped',
  latencyMs: undefined,
});

/** One day of the stamps of one provider for one kind of caller; latencies in milliseconds, null where nothing was stamped. */
export interface DailyFigures {
  /** `YYYY-MM-DD` in UTC. */
  readonly date: string;
  readonly provider: string;
  readonly isQualified: boolean;
  readonly callerKind: CallerKind;
  readonly stamps: number;
  readonly failed: number;
  readonly latencyMs: { readonly p50: number | null; readonly p95: number | null };
}

export interface CounterStore {
  /** Adds finished stamps in one round trip. */
  add(tallies: readonly StampTally[]): Promise<void>;
  /** Undoes `add` for stamps that turned out to be there already, or not to be written. */
  takeBack(tallies: readonly StampTally[]): Promise<void>;
  /** Adds what is no stamp, done at `timeMs`. */
  count(done: Partial<ActivityTotals>, timeMs: number): Promise<void>;
  /** What was done in the hour of `timeMs` and the 23 before it, and ever; its cost is 25 rows for each process that counts. */
  totals(timeMs: number): Promise<{ last24h: ActivityTotals; lifetime: ActivityTotals }>;
  /** Rows of the days from `since` (`YYYY-MM-DD`) on, newest first; its cost is the number of rows, of each process that counts. */
  daily(since: string): Promise<DailyFigures[]>;
  productTotal(product: string): Promise<number>;
  /** Replaces every stamp count by what `tallies` adds up to at `timeMs`; all other figures are kept as they are. */
  repair(tallies: AsyncIterable<StampTally>, timeMs: number): Promise<void>;
}

/** The row that gives each process its shard. */
const shardsId = 'shards';

/** One day of one provider for one kind of caller, of all shards. */
function figuresOf(rows: readonly [CounterRecord, ...CounterRecord[]]): DailyFigures {
  const [{ date = '', provider = '', isQualified = false, callerKind = 'internal' }] = rows;
  const { stamps, failed } = totalsOf(rows);
  const latency = latenciesOf(rows);
  return {
    date,
    provider,
    isQualified,
    callerKind,
    stamps,
    failed,
    latencyMs: { p50: quantile(latency, 0.5), p95: quantile(latency, 0.95) },
  };
}

/** `ownShard`: the shard to count in; unless told, the process takes the next one when it first counts. */
export function createCounterStore(db: Db, ownShard?: number): CounterStore {
  const counters: Collection<CounterRecord & { readonly taken?: number }> = db.collection('counters');
  let taking = ownShard === undefined ? undefined : Promise.resolve(ownShard);

  /** When the store does not say which shard is next, any will do: two processes in one shard count right, and wait for each other. */
  async function takeShard(): Promise<number> {
    try {
      // Two steps: of processes that make the row at once, DocumentDB shows several the first count.
      await inStore(() => counters.updateOne({ _id: shardsId }, { $setOnInsert: { taken: 0 } }, { upsert: true }));
      const options = { returnDocument: 'after', maxTimeMS } as const;
      const row = await inStore(() => counters.findOneAndUpdate({ _id: shardsId }, { $inc: { taken: 1 } }, options));
      if (row?.taken !== undefined) return (row.taken - 1) % counterShards;
    } catch {}
    return randomInt(counterShards);
  }

  const write = async (operations: AnyBulkWriteOperation<CounterRecord>[]) => {
    if (operations.length > 0) await inStore(() => counters.bulkWrite(operations, { ordered: false }));
  };

  const upsert = (id: string, { set, inc }: Change, counting: '$inc' | '$set'): AnyBulkWriteOperation<CounterRecord> => ({
    updateOne: { filter: { _id: id }, update: { $setOnInsert: set, [counting]: inc }, upsert: true },
  });

  /** Sorted by id, so that two processes of one shard lock the rows in the same order. */
  const increase = async (changes: Iterable<[string, Change]>) => {
    taking ??= takeShard();
    const shard = await taking;
    await write([...changes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, change]) => upsert(shardedId(id, shard), change, '$inc')));
  };

  const read = (filter: Parameters<typeof counters.find>[0]) => inStore(() => counters.find(filter, { maxTimeMS }).toArray());

  return {
    add: (tallies) => increase(changesOf(tallies)),
    takeBack: (tallies) => increase(changesOf(tallies, -1)),
    count: (done, timeMs) => increase(changesOfActivity(done, timeMs)),
    totals: async (timeMs) => {
      const [hours, lifetime] = await Promise.all([read({ _id: hoursUntil(timeMs) }), read({ _id: { $in: shardIdsOf(lifetimeId) } })]);
      return { last24h: totalsOf(hours), lifetime: totalsOf(lifetime) };
    },
    daily: async (since) => {
      const rows = await read({ date: { $gte: since } });
      const byCounter = Map.groupBy(rows, ({ _id }) => _id.split('#')[0]);
      return [...byCounter.values()]
        .flatMap(([first, ...others]) => (first ? [figuresOf([first, ...others])] : []))
        .sort((a, b) => b.date.localeCompare(a.date) || a.callerKind.localeCompare(b.callerKind) || a.provider.localeCompare(b.provider));
    },
    productTotal: async (product) => totalsOf(await read({ _id: { $in: shardIdsOf(productId(product)) } })).stamps,
    repair: async (tallies, timeMs) => {
      const changes = new Map<string, Change>();
      for await (const tally of tallies) {
        for (const [id, { set, inc }] of changesOf([{ ...tally, latencyMs: undefined }])) {
          if (set.expiresAt && set.expiresAt.getTime() <= timeMs) continue;
          const change = changes.get(id) ?? { set, inc: { stamps: 0 } };
          change.inc.stamps = (change.inc.stamps ?? 0) + (inc.stamps ?? 0);
          changes.set(id, change);
        }
      }
      await inStore(() => counters.updateMany({ _id: { $nin: [...changes.keys(), shardsId] } }, { $set: { stamps: 0 } }));
      await write([...changes].map(([id, change]) => upsert(id, change, '$set')));
    },
  };
}
