import type { CallerKind } from '../domain/caller.ts';
import { bucketOf } from '../domain/latency-histogram.ts';

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
const activities = ['stamps', 'failed', 'verifications', 'workflowsStarted', 'workflowsCompleted', 'renewed'] as const;
export type Activity = (typeof activities)[number];
export type ActivityTotals = Readonly<Record<Activity, number>>;

/**
 * `day:…` rows hold the daily statistics, `product:…` rows a product's total, `hour:…` rows what was done in one hour, and
 * `lifetime` what was done ever. Each is the sum of its shards.
 */
export interface CounterRecord extends Partial<ActivityTotals> {
  readonly _id: string;
  /** Of hours: they are needed for a day only. */
  readonly expiresAt?: Date;
  readonly date?: string;
  readonly provider?: string;
  readonly isQualified?: boolean;
  readonly callerKind?: CallerKind;
  readonly latency?: Readonly<Record<string, number>>;
}

/** What is added to one row; `set` is written when the row is new. */
export interface Change {
  readonly set: Omit<CounterRecord, '_id' | 'latency' | Activity>;
  readonly inc: Partial<Record<string, number>>;
}

/**
 * How many rows a counter is spread over at most. Each process writes rows of its own, as long as no more processes than this run, and so
 * never waits for another; who reads adds them up.
 */
export const counterShards = 32;

/** The row of a counter that the processes of one shard write. The first shard has the ids of version 0.2.0, which knew no other. */
export const shardedId = (id: string, shard: number): string => (shard === 0 ? id : `${id}#${shard}`);

/** The ids of all rows of a counter. */
export const shardIdsOf = (id: string): string[] => Array.from({ length: counterShards }, (_, shard) => shardedId(id, shard));

/** UTC day of a time in milliseconds, `YYYY-MM-DD`. */
export const utcDay = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);

export const lifetimeId = 'lifetime';
export const productId = (product: string): string => `product:${product}`;

const hourMs = 3_600_000;
const hourIdOf = (timeMs: number): string => `hour:${new Date(timeMs).toISOString().slice(0, 13)}`;

/** The ids of the rows of the hour of `timeMs` and the 23 before it lie between these two. */
export const hoursUntil = (timeMs: number) => ({ $gte: hourIdOf(timeMs - 23 * hourMs), $lt: hourIdOf(timeMs + hourMs) });

/** One hour longer than anybody reads back. */
const expiryOf = (timeMs: number): Date => new Date(Math.floor(timeMs / hourMs) * hourMs + 25 * hourMs);

/** What `done` at `timeMs` adds to the rows that it counts in. */
export const changesOfActivity = (done: Partial<ActivityTotals>, timeMs: number): Map<string, Change> =>
  new Map([
    [hourIdOf(timeMs), { set: { expiresAt: expiryOf(timeMs) }, inc: done }],
    [lifetimeId, { set: {}, inc: done }],
  ]);

/** What finished stamps add to the rows that they count in. */
export function changesOf(tallies: readonly StampTally[], by: 1 | -1 = 1): Map<string, Change> {
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
      if (product !== undefined) add(productId(product), {}, 'stamps');
    }
  }
  return changes;
}

/** What rows add up to. */
export function totalsOf(records: readonly CounterRecord[]): ActivityTotals {
  const sum = (activity: Activity) => records.reduce((total, record) => total + (record[activity] ?? 0), 0);
  return Object.fromEntries(activities.map((activity) => [activity, sum(activity)])) as ActivityTotals;
}

/** Latencies of several rows together: how many there are in each bucket. */
export function latenciesOf(records: readonly CounterRecord[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const { latency = {} } of records) for (const [bucket, count] of Object.entries(latency)) sum[bucket] = (sum[bucket] ?? 0) + count;
  return sum;
}
