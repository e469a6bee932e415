import type { CallerKind } from '../domain/caller.ts';
import { bucketOf } from '../domain/latency-histogram.ts';

/** What one finished stamp adds to the statistics. A failed one has no stamp, only the provider that was asked first. */
export interface StampTally {
  readonly finishedAt: number;
  readonly provider: string;
  readonly isQualified: boolean;
  readonly callerKind: CallerKind;
  /** As `storedProductOf` names it. */
  readonly product: string | undefined;
  readonly outcome: 'stamped' | 'failed';
  /** From acceptance to evidence, in milliseconds; absent where it is not known any more. */
  readonly latencyMs: number | undefined;
}

/** What is counted for everybody to see: by the hour, and for ever. */
const activities = ['stamps', 'failed', 'verifications', 'workflowsStarted', 'workflowsCompleted', 'renewed'] as const;
export type Activity = (typeof activities)[number];
export type ActivityTotals = Readonly<Record<Activity, number>>;

/** The figures of a row. */
export interface Figures extends Partial<ActivityTotals> {
  readonly latency?: Readonly<Record<string, number>>;
}

/** What is known of a row by its id. */
interface RowFields {
  /** Of hours: they are needed for a day only. */
  readonly expiresAt?: Date;
  readonly date?: string;
  readonly provider?: string;
  readonly isQualified?: boolean;
  readonly callerKind?: CallerKind;
}

/**
 * `day:…` rows hold the daily statistics, `product:…` rows a product's total, `hour:…` rows what was done in one hour, and `lifetime` what
 * was done ever.
 */
export interface CounterRecord extends Figures, RowFields {
  readonly _id: string;
}

/** What is added to one row, by the path of each figure: `stamps`, `latency.8`. */
export type Increments = Readonly<Record<string, number>>;

/** What is added to rows, by their ids. */
export type Changes = ReadonlyMap<string, Increments>;

/** UTC day of a time in milliseconds, `YYYY-MM-DD`. */
export const utcDay = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 10);

export const lifetimeId = 'lifetime';
export const productId = (product: string): string => `product:${product}`;

const hourMs = 3_600_000;
const hourIdOf = (timeMs: number): string => `hour:${new Date(timeMs).toISOString().slice(0, 13)}`;
const dayId = /^day:([^:]*):([^:]*):([^:]*):(.*)$/s;

/** Whether a row is of the hour of `timeMs` or one of the 23 before it. */
export const isOfHoursUntil = (timeMs: number): ((id: string) => boolean) => {
  const [first, after] = [hourIdOf(timeMs - 23 * hourMs), hourIdOf(timeMs + hourMs)];
  return (id) => id >= first && id < after;
};

/** The same for a query. */
export const hoursUntil = (timeMs: number) => ({ $gte: hourIdOf(timeMs - 23 * hourMs), $lt: hourIdOf(timeMs + hourMs) });

/** The fields that a new row of this id begins with. An hour lives one hour longer than anybody reads back. */
export function fieldsOf(id: string): RowFields {
  if (id.startsWith('hour:')) return { expiresAt: new Date(Date.parse(`${id.slice('hour:'.length)}:00:00Z`) + 25 * hourMs) };
  const [, date, callerKind, qualification, provider] = dayId.exec(id) ?? [];
  if (date === undefined || provider === undefined) return {};
  return { date, provider, isQualified: qualification === 'qualified', callerKind: callerKind as CallerKind };
}

/** What `done` at `timeMs` adds to the rows that it counts in. */
export const changesOfActivity = (done: Partial<ActivityTotals>, timeMs: number): Changes =>
  new Map([
    [hourIdOf(timeMs), done as Increments],
    [lifetimeId, done as Increments],
  ]);

/** What finished stamps add to the rows that they count in. */
export function changesOf(tallies: readonly StampTally[]): Changes {
  const changes = new Map<string, Record<string, number>>();
  const add = (id: string, figure: string) => {
    const increments = changes.get(id) ?? {};
    increments[figure] = (increments[figure] ?? 0) + 1;
    changes.set(id, increments);
  };
  // Stamps that are counted together are nearly always of the same hour, so the names of its rows are made once.
  for (const [hour, ofHour] of Map.groupBy(tallies, ({ finishedAt }) => Math.floor(finishedAt / hourMs))) {
    const date = utcDay(hour * hourMs);
    const hourId = hourIdOf(hour * hourMs);
    for (const { provider, isQualified, callerKind, product, outcome, latencyMs } of ofHour) {
      const day = `day:${date}:${callerKind}:${isQualified ? 'qualified' : 'unqualified'}:${provider}`;
      const activity: Activity = outcome === 'stamped' ? 'stamps' : 'failed';
      for (const id of [day, hourId, lifetimeId]) add(id, activity);
      if (outcome !== 'stamped') continue;
      if (latencyMs !== undefined) add(day, `latency.${bucketOf(latencyMs)}`);
      if (product !== undefined) add(productId(product), 'stamps');
    }
  }
  return changes;
}

/** What rows add up to. */
export function totalsOf(records: readonly Figures[]): ActivityTotals {
  const sum = (activity: Activity) => records.reduce((total, record) => total + (record[activity] ?? 0), 0);
  return Object.fromEntries(activities.map((activity) => [activity, sum(activity)])) as ActivityTotals;
}

/** Latencies of several rows together: how many there are in each bucket. */
export function latenciesOf(records: readonly Figures[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const { latency = {} } of records) for (const [bucket, count] of Object.entries(latency)) sum[bucket] = (sum[bucket] ?? 0) + count;
  return sum;
}
