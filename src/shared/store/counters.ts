import type { AnyBulkWriteOperation, Collection, Db } from 'mongodb';
import type { CallerKind } from '../domain/caller.ts';
import { bucketOf, quantile } from '../domain/latency-histogram.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import type { StampSummary } from './stamps.ts';

/** What one finished stamp adds to the statistics. A failed one has no stamp, only the provider that was asked first. */
export interface StampTally {
  readonly finishedAt: number;
  readonly provider: string;
  readonly isQualified: boolean;
  readonly callerKind: CallerKind;
  readonly product: string | undefined;
  readonly outcome: 'stamped' | 'failed';
  /** From acceptance to evidence, in milliseconds; absent where it is not known (a repair). */
  readonly latencyMs: number | undefined;
}

/** What is counted for everybody to see: by the hour, and for ever. */
const activities = ['stamps', 'failed', 'verifications', 'workflowsStarted', 'workflowsCompleted'] as const;
export type Activity = (typeof activities)[number];
export type ActivityTotals = Readonly<Record<Activity, number>>;

/**
 * `day:…` rows hold the daily statistics, `product:…` rows a product's total, `hour:…` rows what was done in one hour, and
 * `lifetime` what was done ever.
 */
interface CounterRecord extends Partial<ActivityTotals> {
  readonly _id: string;
  /** Of hours: they are needed for a day only. */
  readonly expiresAt?: Date;
  readonly date?: string;
  readonly provider?: string;
  readonly isQualified?: boolean;
  readonly callerKind?: CallerKind;
  readonly latency?: Readonly<Record<string, number>>;
}

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
  /** What was done in the hour of `timeMs` and the 23 before it, and ever; its cost is 25 rows. */
  totals(timeMs: number): Promise<{ last24h: ActivityTotals; lifetime: ActivityTotals }>;
  /** Rows of the days from `since` (`YYYY-MM-DD`) on, newest first; its cost is the number of rows. */
  daily(since: string): Promise<DailyFigures[]>;
  productTotal(product: string): Promise<number>;
  /** Replaces every stamp count by what `tallies` adds up to at `timeMs`; all other figures are kept as they are. */
  repair(tallies: AsyncIterable<StampTally>, timeMs: number): Promise<void>;
}

/** UTC day of a time in milliseconds, `YYYY-MM-DD`. */
export const utcDay = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);

const hourMs = 3_600_000;
const lifetimeId = 'lifetime';

const hourIdOf = (timeMs: number): string => `hour:${new Date(timeMs).toISOString().slice(0, 13)}`;

/** One hour longer than anybody reads back. */
const expiryOf = (timeMs: number): Date => new Date(Math.floor(timeMs / hourMs) * hourMs + 25 * hourMs);

interface Change {
  readonly set: Omit<CounterRecord, '_id' | 'latency' | Activity>;
  readonly inc: Partial<Record<string, number>>;
}

function changesOf(tallies: readonly StampTally[], by: 1 | -1 = 1): Map<string, Change> {
  const changes = new Map<string, Change>();
  const add = (id: string, set: Change['set'], field: string) => {
    const change = changes.get(id) ?? { set, inc: {} };
    change.inc[field] = (change.inc[field] ?? 0) + by;
    changes.set(id, change);
  };
  // Stamps that are counted together are nearly always of the same hour, so the names of its rows are made once.
  for (const [hour, ofHour] of Map.groupBy(tallies, ({ finishedAt }) => Math.floor(finishedAt / hourMs))) {
    const date = utcDay(hour * hourMs);
    const hourId = hourIdOf(hour * hourMs);
    const hourFields = { expiresAt: expiryOf(hour * hourMs) };
    for (const { provider, isQualified, callerKind, product, outcome, latencyMs } of ofHour) {
      const day = `day:${date}:${callerKind}:${isQualified ? 'qualified' : 'unqualified'}:${provider}`;
      const dayFields = { date, provider, isQualified, callerKind };
      const activity: Activity = outcome === 'stamped' ? 'stamps' : 'failed';
      add(day, dayFields, activity);
      add(hourId, hourFields, activity);
      add(lifetimeId, {}, activity);
      if (outcome !== 'stamped') continue;
      if (latencyMs !== undefined) add(day, dayFields, `latency.${bucketOf(latencyMs)}`);
      if (product !== undefined) add(`product:${product}`, {}, 'stamps');
    }
  }
  return changes;
}

function figuresOf(record: CounterRecord): DailyFigures {
  const { date = '', provider = '', isQualified = false, callerKind = 'internal', stamps = 0, failed = 0, latency = {} } = record;
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

function totalsOf(records: readonly CounterRecord[]): ActivityTotals {
  const sum = (activity: Activity) => records.reduce((total, record) => total + (record[activity] ?? 0), 0);
  return Object.fromEntries(activities.map((activity) => [activity, sum(activity)])) as ActivityTotals;
}

export function createCounterStore(db: Db): CounterStore {
  const counters: Collection<CounterRecord> = db.collection('counters');

  const write = async (operations: AnyBulkWriteOperation<CounterRecord>[]) => {
    if (operations.length > 0) await inStore(() => counters.bulkWrite(operations, { ordered: false }));
  };

  const upsert = (id: string, { set, inc }: Change, counting: '$inc' | '$set'): AnyBulkWriteOperation<CounterRecord> => ({
    updateOne: { filter: { _id: id }, update: { $setOnInsert: set, [counting]: inc }, upsert: true },
  });

  /** Sorted by id, so that two writers lock the rows in the same order and never wait for each other. */
  const increase = (changes: Iterable<[string, Change]>) =>
    write([...changes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([id, change]) => upsert(id, change, '$inc')));

  return {
    add: (tallies) => increase(changesOf(tallies)),
    takeBack: (tallies) => increase(changesOf(tallies, -1)),
    count: (done, timeMs) =>
      increase([
        [hourIdOf(timeMs), { set: { expiresAt: expiryOf(timeMs) }, inc: done }],
        [lifetimeId, { set: {}, inc: done }],
      ]),
    totals: (timeMs) =>
      inStore(async () => {
        const hours = Array.from({ length: 24 }, (_, ago) => hourIdOf(timeMs - ago * hourMs));
        const rows = await counters.find({ _id: { $in: [...hours, lifetimeId] } }, { maxTimeMS }).toArray();
        const isLifetime = ({ _id }: CounterRecord) => _id === lifetimeId;
        return { last24h: totalsOf(rows.filter((row) => !isLifetime(row))), lifetime: totalsOf(rows.filter(isLifetime)) };
      }),
    daily: (since) =>
      inStore(async () => {
        const rows = await counters.find({ date: { $gte: since } }, { maxTimeMS }).toArray();
        return rows
          .map(figuresOf)
          .sort((a, b) => b.date.localeCompare(a.date) || a.callerKind.localeCompare(b.callerKind) || a.provider.localeCompare(b.provider));
      }),
    productTotal: (product) => inStore(async () => (await counters.findOne({ _id: `product:${product}` }, { maxTimeMS }))?.stamps ?? 0),
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
      await inStore(() => counters.updateMany({ _id: { $nin: [...changes.keys()] } }, { $set: { stamps: 0 } }));
      await write([...changes].map(([id, change]) => upsert(id, change, '$set')));
    },
  };
}
