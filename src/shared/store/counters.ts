import type { Collection, Db, Filter, UpdateFilter } from 'mongodb';
import type { Logger } from '../runtime/log.ts';
import type { BatchStore } from './batches.ts';
import { maxTimeMS } from './connection.ts';
import { inStore, isDuplicateKey } from './errors.ts';
import { type OlderCounts, olderCountsId, takeOverOlderCounters } from './older-counters.ts';
import {
  type ActivityTotals,
  dayOf,
  hourOf,
  hoursBetween,
  isDay,
  keyOfName,
  keyOfSeries,
  mergeCounts,
  mergeSeries,
  type PeriodCounts,
  type PeriodDocument,
  type Series,
  type SeriesCounts,
  seriesOfKey,
  spanOf,
  totalsOf,
  utcDay,
  withoutParts,
} from './period-counts.ts';
import { createStampCounts } from './stamp-counts.ts';

/**
 * Latencies are counted in buckets. The upper limit of each bucket is 25 % higher than that of the previous bucket. So counting is one increment,
 * the percentiles of a day need no scan, and a percentile is at most 25 % too high.
 */
const growth = 1.25;

/** Returns the bucket of a latency: the smallest n with `growth ** n >= latencyMs`. */
function bucketOf(latencyMs: number): number {
  return latencyMs <= 1 ? 0 : Math.ceil(Math.log(latencyMs) / Math.log(growth));
}

/**
 * Returns the latency in whole milliseconds that the share `q` (0…1) of all counted latencies does not exceed, or null if none was counted.
 * `counts` maps a bucket to its number of latencies.
 */
function quantile(counts: Readonly<Record<string, number>>, q: number): number | null {
  const buckets = Object.entries(counts)
    .map(([bucket, count]) => ({ bucket: Number(bucket), count }))
    .sort((a, b) => a.bucket - b.bucket);
  const total = buckets.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return null;
  let seen = 0;
  const reached = buckets.find(({ count }) => {
    seen += count;
    return seen >= q * total;
  });
  return Math.ceil(growth ** (reached?.bucket ?? 0));
}

export { type ActivityTotals, utcDay } from './period-counts.ts';

/** A finished stamp, to be counted. */
export interface StampTally extends Series {
  /** When the stamp's id was made, in milliseconds since the epoch. The stamp counts in the hour of this time. */
  readonly idMadeAt: number;
  readonly outcome: 'stamped' | 'failed';
  /** The product of the stamp, named as in `storedProductOf`. */
  readonly product: string | undefined;
  /** The time from the acceptance of the stamp until it was made, in milliseconds. */
  readonly latencyMs: number;
}

/** The stamps of one provider for one kind of caller on one day. Latencies are in milliseconds, null if nothing was stamped. */
export interface DailyFigures extends Series {
  /** `YYYY-MM-DD` in UTC. */
  readonly date: string;
  readonly stamps: number;
  readonly failed: number;
  readonly latencyMs: { readonly p50: number | null; readonly p95: number | null };
}

const writeEveryMs = 100;
const hourMs = 3_600_000;
/** An hour is recounted only this long after its end, when nearly all its stamps are finished. */
const settledAfterMs = 15 * 60_000;
/** An hour counts as open for this long after its end, because some of its counts are not written yet. */
const lateMs = 60_000;
/** If an open hour has at most this many stamps, each read counts them again. */
const countedWhenAsked = 10_000;

export type CounterStore = ReturnType<typeof createCounterStore>;

/**
 * Counts the activities of the service, in one document for each hour. A process counts in memory and writes ten times a second. If a process is
 * killed, the stamps that it has not written are missing until `recountEnded`.
 */
export function createCounterStore(db: Db, { batches, log }: { batches: Pick<BatchStore, 'findClaims'>; log: Logger }) {
  const counts: Collection<PeriodDocument> = db.collection('counts');
  const stamps = createStampCounts(db, batches);

  /** Increments not written yet: hour → field path of the counter → amount. */
  let pending = new Map<string, Record<string, number>>();
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  function count(hour: string, path: string, amount = 1): void {
    const ofHour = pending.get(hour) ?? {};
    ofHour[path] = (ofHour[path] ?? 0) + amount;
    pending.set(hour, ofHour);
    timer ??= setTimeout(() => {
      writing = writing.then(write);
    }, writeEveryMs);
  }

  async function addToHour(hour: string, $inc: Record<string, number>): Promise<void> {
    // If an hour changes after its recount, the next run recounts it again.
    const change = { $inc, $unset: { recountedAt: '' } } as UpdateFilter<PeriodDocument>;
    const update = () => counts.updateOne({ _id: hour }, change, { upsert: true });
    try {
      await update();
    } catch (error) {
      // Another process has made the document of this hour in the meantime.
      if (!isDuplicateKey(error)) throw error;
      await update();
    }
  }

  /** Writes all pending increments. A failed write is not repeated, because the stamps are recounted when the hour is over. */
  async function write(): Promise<void> {
    const taken = pending;
    pending = new Map();
    timer = undefined;
    for (const [hour, increments] of [...taken].sort(([one], [other]) => one.localeCompare(other))) {
      await inStore(() => addToHour(hour, increments)).catch((error) =>
        log.debug({ err: error, hour }, 'counters could not be written; only the stamps will be recounted'),
      );
    }
  }

  const readAll = async (projection: object): Promise<PeriodDocument[]> =>
    withoutParts(await inStore(() => counts.find({}, { projection, maxTimeMS }).toArray()));

  /** Counts the stamps of open hours now, except in hours with many stamps. */
  async function countOpenHours(documents: readonly PeriodDocument[], timeMs: number): Promise<ReadonlyMap<string, PeriodCounts>> {
    const open = new Map<string, PeriodCounts>();
    for (const hour of new Set([hourOf(timeMs - lateMs), hourOf(timeMs)])) {
      if ((documents.find(({ _id }) => _id === hour)?.done?.stamps ?? 0) > countedWhenAsked) continue;
      const { fromMs, toMs } = spanOf(hour);
      const counted = await stamps.countUpTo(countedWhenAsked, fromMs, toMs);
      if (counted) open.set(hour, counted);
    }
    return open;
  }

  /** Returns the documents. In open hours, the stamps are counted now and replace the stored numbers. */
  async function withOpenHours(documents: readonly PeriodDocument[], timeMs: number): Promise<PeriodDocument[]> {
    const open = await countOpenHours(documents, timeMs);
    const closed = documents.map((document) => (open.has(document._id) ? { ...document, ...withoutStamps(document) } : document));
    return [...closed, ...[...open].map(([_id, counted]) => ({ _id, ...counted }))];
  }

  /** Recounts the stamps of an hour or a day. */
  async function recountPeriod(period: string): Promise<void> {
    const projection = { series: 1, 'done.stamps': 1 };
    const known = await inStore(() => counts.findOne({ _id: period }, { projection, maxTimeMS }));
    const { fromMs, toMs } = spanOf(period);
    const { done, products = {}, series = {} } = await stamps.count(fromMs, toMs);
    if (!known && !done?.stamps) return;
    const keys = new Set([...Object.keys(known?.series ?? {}), ...Object.keys(series)]);
    const ofSeries = Object.fromEntries([...keys].map((key) => [`series.${key}.stamps`, series[key]?.stamps ?? 0]));
    const $set = { products, 'done.stamps': done?.stamps ?? 0, ...ofSeries, recountedAt: new Date() };
    // If another process has counted a stamp in the meantime, nothing is written, and the next run recounts the period.
    const unchanged = known && { 'done.stamps': known.done?.stamps ?? { $exists: false } };
    const filter = { _id: period, ...unchanged } as Filter<PeriodDocument>;
    await inStore(() => counts.updateOne(filter, { $set } as UpdateFilter<PeriodDocument>, { upsert: !known }));
  }

  async function recountHours(hours: readonly string[]): Promise<void> {
    const days = [...new Set(hours.map(dayOf))];
    const folded = new Set((await inStore(() => counts.find({ _id: { $in: days } }, { maxTimeMS }).toArray())).map(({ _id }) => _id));
    const periods = new Set(hours.map((hour) => (folded.has(dayOf(hour)) ? dayOf(hour) : hour)));
    for (const period of periods) await recountPeriod(period);
  }

  let isUpgraded = false;

  /** Takes over the counts of an earlier version. A process does this once. */
  async function upgrade(timeMs: number): Promise<void> {
    if (!isUpgraded) await takeOverOlderCounters({ db, counts, countStamps: stamps.count, recountHours, timeMs });
    isUpgraded = true;
  }

  /** Returns the first hour that may be recounted. Earlier hours have counts from an earlier version of the service. */
  const firstHour = async (): Promise<string> =>
    (await inStore(() => counts.findOne<OlderCounts>({ _id: olderCountsId }, { maxTimeMS })))?.before ?? '';

  /** Returns the hours that ended at least 15 minutes ago and were not recounted after that. */
  async function hoursToRecount(timeMs: number): Promise<string[]> {
    const known = await inStore(() => counts.find({}, { projection: { recountedAt: 1 }, maxTimeMS }).toArray());
    const recounted = new Set(
      known.filter(({ _id, recountedAt }) => isDay(_id) || Number(recountedAt) >= spanOf(_id).toMs + settledAfterMs).map(({ _id }) => _id),
    );
    // Includes the hours of the last day that have no document.
    const settled = hoursBetween(timeMs - 25 * hourMs, timeMs - hourMs - settledAfterMs + 1);
    const [last = '', first] = [settled.at(-1), await firstHour()];
    const hours = new Set([...settled, ...known.map(({ _id }) => _id).filter((id) => id.length === last.length)]);
    return [...hours].filter((hour) => hour >= first && hour <= last && !recounted.has(hour) && !recounted.has(dayOf(hour)));
  }

  /** Replaces the hours before the previous month with one document for each day. The documents of the hours are removed last. */
  async function foldDays(timeMs: number): Promise<void> {
    const today = new Date(timeMs);
    const kept = utcDay(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - 1));
    const documents = await inStore(() => counts.find({ _id: { $lt: kept } }, { maxTimeMS }).toArray());
    const hours = documents.filter(({ _id }) => !isDay(_id));
    const days = Map.groupBy(
      withoutParts(documents).filter(({ _id }) => !isDay(_id)),
      ({ _id }) => dayOf(_id),
    );
    for (const [_id, parts] of days) {
      await inStore(() => counts.replaceOne({ _id }, mergeCounts(parts), { upsert: true }));
    }
    if (hours.length > 0) await inStore(() => counts.deleteMany({ _id: { $in: hours.map(({ _id }) => _id) } }));
  }

  return {
    /** Counts stamps that were stored, and stamps that no provider could make. */
    addStamps: (tallies: readonly StampTally[]): void => {
      for (const { idMadeAt, outcome, product, latencyMs, ...series } of tallies) {
        const hour = hourOf(idMadeAt);
        const path = `series.${keyOfSeries(series)}`;
        const activity = outcome === 'stamped' ? 'stamps' : 'failed';
        count(hour, `done.${activity}`);
        count(hour, `${path}.${activity}`);
        if (outcome === 'failed') continue;
        count(hour, `${path}.latency.${bucketOf(latencyMs)}`);
        if (product !== undefined) count(hour, `products.${keyOfName(product)}`);
      }
    },
    /** Counts other activities at `timeMs`, such as verifications. */
    add: (done: Partial<ActivityTotals>, timeMs: number): void => {
      for (const [activity, amount] of Object.entries(done)) count(hourOf(timeMs), `done.${activity}`, amount);
    },
    /** Returns the activities in the hour of `timeMs` and the 23 hours before it, and in total. */
    totals: async (timeMs: number): Promise<{ last24h: ActivityTotals; lifetime: ActivityTotals }> => {
      const documents = await withOpenHours(await readAll({ done: 1 }), timeMs);
      const [first, last] = [hourOf(timeMs - 23 * hourMs), hourOf(timeMs)];
      const isLast24h = ({ _id }: PeriodDocument) => _id.length >= last.length && _id >= first && _id.slice(0, last.length) <= last;
      return { last24h: totalsOf(documents.filter(isLast24h)), lifetime: totalsOf(documents) };
    },
    /** Returns the statistics of all days from `since` (`YYYY-MM-DD`) on, newest day first. */
    daily: async (since: string, timeMs: number): Promise<DailyFigures[]> => {
      const found = await inStore(() =>
        counts.find({ _id: { $gte: since } }, { projection: { series: 1, 'done.stamps': 1 }, maxTimeMS }).toArray(),
      );
      const days = withoutParts(found.filter(({ _id }) => _id !== olderCountsId));
      const entries = (await withOpenHours(days, timeMs)).flatMap(({ _id, series = {} }) =>
        Object.entries(series).map(([key, ofSeries]) => ({ date: dayOf(_id), key, ofSeries })),
      );
      return [...Map.groupBy(entries, ({ date, key }) => `${date} ${key}`).values()]
        .map((same) =>
          figuresOf(
            same[0]!,
            same.map(({ ofSeries }) => ofSeries),
          ),
        )
        .filter(({ stamps, failed }) => stamps + failed > 0)
        .sort((a, b) => b.date.localeCompare(a.date) || a.callerKind.localeCompare(b.callerKind) || a.provider.localeCompare(b.provider));
    },
    /** Returns the number of stamps of these products. They are named as in `storedProductOf`. */
    productTotal: async (products: readonly string[]): Promise<number> => {
      const keys = products.map(keyOfName);
      const documents = await readAll(Object.fromEntries(keys.map((key) => [`products.${key}`, 1])));
      return documents.reduce((sum, document) => sum + keys.reduce((ofKeys, key) => ofKeys + (document.products?.[key] ?? 0), 0), 0);
    },
    /**
     * Recounts the hours between the two times from the stamps themselves. Failures and latencies stay unchanged. Returns the number of hours.
     */
    recount: async (fromMs: number, toMs: number): Promise<number> => {
      const first = await firstHour();
      const hours = hoursBetween(fromMs, toMs).filter((hour) => hour >= first);
      await recountHours(hours);
      return hours.length;
    },
    /** Recounts every hour that ended at least 15 minutes ago, once. Then replaces the hours of old months with days. */
    recountEnded: async (timeMs: number): Promise<void> => {
      await upgrade(timeMs);
      await recountHours(await hoursToRecount(timeMs));
      await foldDays(timeMs);
    },
    upgrade,
    /** Writes the pending increments when the process stops. */
    close: async (): Promise<void> => {
      clearTimeout(timer);
      await writing;
      await write();
    },
  };
}

/** Returns the counts of a period without its stamps, which are counted separately. */
function withoutStamps({ done = {}, series = {} }: PeriodCounts): PeriodCounts {
  const { stamps: _, ...rest } = done;
  return {
    done: rest,
    products: {},
    series: Object.fromEntries(Object.entries(series).map(([key, { stamps: __, ...ofSeries }]) => [key, ofSeries])),
  };
}

/** Makes the statistics of one provider for one kind of caller on one day. */
function figuresOf({ date, key }: { date: string; key: string }, all: readonly SeriesCounts[]): DailyFigures {
  const { stamps, failed, latency } = mergeSeries(all);
  return { date, ...seriesOfKey(key), stamps, failed, latencyMs: { p50: quantile(latency, 0.5), p95: quantile(latency, 0.95) } };
}
