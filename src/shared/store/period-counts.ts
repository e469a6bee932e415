import type { CallerKind } from '../domain/caller.ts';

/** The activities that are counted and published, per hour and in total. */
const activities = ['stamps', 'failed', 'verifications', 'workflowsStarted', 'workflowsCompleted', 'renewed'] as const;
export type Activity = (typeof activities)[number];
export type ActivityTotals = Readonly<Record<Activity, number>>;

/** Counts of the stamps of one provider for one kind of caller. `latency` maps a bucket (see `bucketOf`) to a count. */
export interface SeriesCounts {
  readonly stamps?: number;
  readonly failed?: number;
  readonly latency?: Readonly<Record<string, number>>;
}

/** The counts of a period. An absent count is zero. */
export interface PeriodCounts {
  readonly done?: Partial<ActivityTotals>;
  /** The number of stamps of each product. Keys are made by `keyOfName`. */
  readonly products?: Readonly<Record<string, number>>;
  /** Keys are made by `keyOfSeries`. */
  readonly series?: Readonly<Record<string, SeriesCounts>>;
}

/** The counts of an hour (`2026-11-24T18`) or a day (`2026-09-13`) in UTC. If a day has a document, the documents of its hours do not count. */
export interface PeriodDocument extends PeriodCounts {
  readonly _id: string;
  /** When the stamps of the period were recounted from the stamps themselves. */
  readonly recountedAt?: Date;
}

const hourMs = 3_600_000;

export const hourOf = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 13);
export const dayOf = (idOrHour: string): string => idOrHour.slice(0, 10);
export const isDay = (id: string): boolean => id.length === '2026-09-13'.length;
export const utcDay = (timeMs: number): string => dayOf(hourOf(timeMs));

/** Returns the first millisecond of an hour or a day, and the first millisecond after its end. */
export function spanOf(period: string): { fromMs: number; toMs: number } {
  const fromMs = Date.parse(isDay(period) ? period : `${period}:00:00Z`);
  return { fromMs, toMs: fromMs + (isDay(period) ? 24 : 1) * hourMs };
}

/** Lists the hours that overlap a span of time, oldest first. */
export function hoursBetween(fromMs: number, toMs: number): string[] {
  const first = Math.floor(fromMs / hourMs);
  return Array.from({ length: Math.max(0, Math.ceil(toMs / hourMs) - first) }, (_, index) => hourOf((first + index) * hourMs));
}

/** Encodes a name as the name of a member in a document. Dots and dollar signs are encoded, because they have a meaning in paths of MongoDB. */
export const keyOfName = (product: string): string => encodeURIComponent(product).replaceAll('.', '%2E');

export interface Series {
  readonly callerKind: CallerKind;
  readonly isQualified: boolean;
  readonly provider: string;
}

export const keyOfSeries = ({ callerKind, isQualified, provider }: Series): string =>
  [callerKind, isQualified ? 'qualified' : 'unqualified', provider].map(keyOfName).join(':');

export function seriesOfKey(key: string): Series {
  const [callerKind = '', qualification, provider = ''] = key.split(':').map(decodeURIComponent);
  return { callerKind: callerKind as CallerKind, isQualified: qualification === 'qualified', provider };
}

/** Removes the documents of hours whose day has its own document. */
export function withoutParts<T extends { readonly _id: string }>(documents: readonly T[]): T[] {
  const days = new Set(documents.map(({ _id }) => _id).filter(isDay));
  return documents.filter(({ _id }) => isDay(_id) || !days.has(dayOf(_id)));
}

type Numbers = Readonly<Record<string, number>>;

function addUp(numbers: readonly (Numbers | undefined)[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const each of numbers) for (const [name, value] of Object.entries(each ?? {})) sum[name] = (sum[name] ?? 0) + value;
  return sum;
}

export function mergeSeries(all: readonly SeriesCounts[]): Required<SeriesCounts> {
  const { stamps = 0, failed = 0 } = addUp(all.map((each) => ({ stamps: each.stamps ?? 0, failed: each.failed ?? 0 })));
  return { stamps, failed, latency: addUp(all.map(({ latency }) => latency)) };
}

export function mergeCounts(all: readonly PeriodCounts[]): PeriodCounts {
  const series = Map.groupBy(
    all.flatMap((each) => Object.entries(each.series ?? {})),
    ([key]) => key,
  );
  return {
    done: addUp(all.map(({ done }) => done as Numbers | undefined)),
    products: addUp(all.map(({ products }) => products)),
    series: Object.fromEntries([...series].map(([key, entries]) => [key, mergeSeries(entries.map(([, counts]) => counts))])),
  };
}

export function totalsOf(all: readonly PeriodCounts[]): ActivityTotals {
  const sum = addUp(all.map(({ done }) => done as Numbers | undefined));
  return Object.fromEntries(activities.map((activity) => [activity, sum[activity] ?? 0])) as ActivityTotals;
}
