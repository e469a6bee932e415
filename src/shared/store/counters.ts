import type { AnyBulkWriteOperation, Collection, Db } from 'mongodb';
import type { DailyStatsRow } from '../contract/stats.ts';
import { bucketOf, quantile } from '../domain/latency-histogram.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import type { StampRecord } from './stamps.ts';

type CallerKind = StampRecord['caller']['kind'];

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

/** `day:…` rows hold the daily statistics, `product:…` rows a product's total. */
interface CounterRecord {
  readonly _id: string;
  readonly date?: string;
  readonly provider?: string;
  readonly isQualified?: boolean;
  readonly callerKind?: CallerKind;
  readonly stamps?: number;
  readonly failed?: number;
  readonly latency?: Readonly<Record<string, number>>;
}

/** What a stored stamp counts for, when the counters are made anew. Its latency is not known any more. */
export const tallyOfRecord = ({ issuedAt, provider, isQualified, caller }: StampRecord): StampTally => ({
  finishedAt: Date.parse(issuedAt),
  provider,
  isQualified,
  callerKind: caller.kind,
  product: caller.product,
  outcome: 'stamped',
  latencyMs: undefined,
});

export interface CounterStore {
  /** Adds finished stamps in one round trip. */
  add(tallies: readonly StampTally[]): Promise<void>;
  /** Rows of the days from `since` (`YYYY-MM-DD`) on, newest first; its cost is the number of rows. */
  daily(since: string): Promise<DailyStatsRow[]>;
  productTotal(product: string): Promise<number>;
  /** Replaces every stamp count by what `tallies` adds up to; failures and latencies are kept as they are. */
  repair(tallies: AsyncIterable<StampTally>): Promise<void>;
}

/** UTC day of a time in milliseconds, `YYYY-MM-DD`. */
export const utcDay = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);

interface Change {
  readonly set: Omit<CounterRecord, '_id' | 'stamps' | 'failed' | 'latency'>;
  readonly inc: Record<string, number>;
}

function changesOf(tallies: Iterable<StampTally>): Map<string, Change> {
  const changes = new Map<string, Change>();
  const add = (id: string, set: Change['set'], field: string) => {
    const change = changes.get(id) ?? { set, inc: {} };
    change.inc[field] = (change.inc[field] ?? 0) + 1;
    changes.set(id, change);
  };
  for (const { finishedAt, provider, isQualified, callerKind, product, outcome, latencyMs } of tallies) {
    const date = utcDay(finishedAt);
    const day = `day:${date}:${callerKind}:${isQualified ? 'qualified' : 'unqualified'}:${provider}`;
    const dayFields = { date, provider, isQualified, callerKind };
    add(day, dayFields, outcome === 'stamped' ? 'stamps' : 'failed');
    if (outcome !== 'stamped') continue;
    if (latencyMs !== undefined) add(day, dayFields, `latency.${bucketOf(latencyMs)}`);
    if (product !== undefined) add(`product:${product}`, {}, 'stamps');
  }
  return changes;
}

function rowOf(record: CounterRecord): DailyStatsRow {
  return {
    date: record.date ?? '',
    provider: record.provider ?? '',
    is_qualified: record.isQualified ?? false,
    caller_kind: record.callerKind ?? 'internal',
    stamps: record.stamps ?? 0,
    failed: record.failed ?? 0,
    latency_ms_p50: quantile(record.latency ?? {}, 0.5),
    latency_ms_p95: quantile(record.latency ?? {}, 0.95),
  };
}

export function createCounterStore(db: Db): CounterStore {
  const counters: Collection<CounterRecord> = db.collection('counters');

  const write = async (operations: AnyBulkWriteOperation<CounterRecord>[]) => {
    if (operations.length > 0) await inStore(() => counters.bulkWrite(operations, { ordered: false }));
  };

  const upsert = (id: string, { set, inc }: Change, counting: '$inc' | '$set'): AnyBulkWriteOperation<CounterRecord> => ({
    updateOne: { filter: { _id: id }, update: { $setOnInsert: set, [counting]: inc }, upsert: true },
  });

  return {
    add: (tallies) => write([...changesOf(tallies)].map(([id, change]) => upsert(id, change, '$inc'))),
    daily: (since) =>
      inStore(async () => {
        const rows = await counters.find({ date: { $gte: since } }, { maxTimeMS }).toArray();
        return rows
          .map(rowOf)
          .sort(
            (a, b) => b.date.localeCompare(a.date) || a.caller_kind.localeCompare(b.caller_kind) || a.provider.localeCompare(b.provider),
          );
      }),
    productTotal: (product) => inStore(async () => (await counters.findOne({ _id: `product:${product}` }, { maxTimeMS }))?.stamps ?? 0),
    repair: async (tallies) => {
      const changes = new Map<string, Change>();
      for await (const tally of tallies) {
        for (const [id, { set, inc }] of changesOf([{ ...tally, latencyMs: undefined }])) {
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
