import type { Collection, Db, Document } from 'mongodb';
import { type CallerKind, firstIdAt } from '../domain/stamp.ts';
import type { Logger } from '../runtime/log.ts';
import type { BatchStore } from './batches.ts';
import { inStore, isDuplicateKey, maxTimeMS } from './connection.ts';

/** The activities that are counted and published. */
const activities = ['stamps', 'failed', 'verifications', 'workflowsStarted', 'workflowsCompleted', 'renewed'] as const;
export type ActivityTotals = Readonly<Record<(typeof activities)[number], number>>;

/** The stamps of one provider for one kind of caller. */
type Series = Pick<StampGroup, 'callerKind' | 'isQualified' | 'provider'>;

/** A finished stamp, to be counted. */
export interface StampTally extends Omit<StampGroup, 'stamps'> {
  /** When the stamp's id was made, in milliseconds since the epoch. The stamp counts in the hour of this time. */
  readonly idMadeAt: number;
  readonly outcome: 'stamped' | 'failed';
  /** The time from the acceptance of the stamp until it was made, in milliseconds. */
  readonly latencyMs: number;
}

/** The stamps of a series on one day. Latencies are in milliseconds, null if nothing was stamped. */
interface DailyFigures extends Series {
  /** `YYYY-MM-DD` in UTC. */
  readonly date: string;
  readonly stamps: number;
  readonly failed: number;
  readonly latencyMs: { readonly p50: number | null; readonly p95: number | null };
}

type Counts = Readonly<Record<string, number>>;
type SeriesCounts = { readonly stamps?: number; readonly failed?: number; readonly latency?: Counts };

/** The counts of one hour. An absent count is zero. */
export interface HourCounts {
  /** The hour in UTC, such as `2026-11-24T18`. */
  readonly _id: string;
  readonly done?: Partial<ActivityTotals>;
  /** The stamps of each product, by `keyOfName`. */
  readonly products?: Counts;
  /** The stamps of each series, by `keyOfSeries`, with the number of latencies in each bucket (`bucketOf`). */
  readonly series?: Readonly<Record<string, SeriesCounts>>;
  /** Present if the hour was recounted after its end, and no process has counted in it since. */
  readonly isRecounted?: true;
}

const writeEveryMs = 100;
const hourMs = 3_600_000;
/** An hour is recounted only this long after its end, when nearly all its stamps are finished. */
const settledAfterMs = 15 * 60_000;

/**
 * Counts the activities of the service, in one document for each hour. A process counts in memory and writes ten times a second. If a process is
 * killed, the stamps that it has not written are missing until `recountEnded` (docs/reference/adr/0008-counting-along-the-way.md).
 */
export function createCounterStore(db: Db, { batches, log }: { batches: BatchStore; log: Logger }) {
  const hours: Collection<HourCounts> = db.collection('counts');

  /** Increments that are not written yet: hour → path of the counter → amount. `countIn` gives them, and `write` takes them. */
  let pending: Record<string, Record<string, number>> = {};
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  /** Returns the increments of an hour, to be changed by the caller. They are written soon. */
  function countIn(timeMs: number): Record<string, number> {
    timer ??= setTimeout(() => {
      writing = writing.then(write);
    }, writeEveryMs);
    const hour = hourOf(timeMs);
    pending[hour] ??= {};
    return pending[hour];
  }

  /** Writes all pending increments. A failed write is not repeated, because the stamps are recounted when the hour is over. */
  async function write(): Promise<void> {
    const taken = pending;
    pending = {};
    timer = undefined;
    for (const [hour, $inc] of Object.entries(taken)) {
      const change = { $inc, $unset: { isRecounted: '' } } as const;
      await inStore(() => hours.updateOne({ _id: hour }, change, { upsert: true })).catch((error) =>
        log.debug({ err: error, hour }, 'counters could not be written; only the stamps will be recounted'),
      );
    }
  }

  /** Sums up counters by their names over the hours from `first` on. */
  async function sumsOf<Name extends string>(part: 'done' | 'products', names: readonly Name[], first = ''): Promise<Record<Name, number>> {
    const sums = Object.fromEntries(names.map((name) => [name, { $sum: `$${part}.${name}` }]));
    const pipeline = [{ $match: { _id: { $gte: first } } }, { $group: { ...sums, _id: null } }];
    const [found] = await inStore(() => hours.aggregate(pipeline, { maxTimeMS }).toArray());
    return Object.fromEntries(names.map((name) => [name, found?.[name] ?? 0])) as Record<Name, number>;
  }

  /** Replaces the counts of stamps by the numbers of stored stamps. An hour that is over is recounted once, and again if a process counts in it. */
  async function recountHour(hour: string, isOver: boolean): Promise<void> {
    const known = await inStore(() => hours.findOne({ _id: hour }, { maxTimeMS }));
    if (isOver && known?.isRecounted) return;
    const startMs = Date.parse(`${hour}:00Z`);
    const groups = await countStamps(db, batches, startMs, startMs + hourMs);
    if (!known && groups.length === 0) return;
    const { done, products = {}, series = {} } = known ?? {};
    const stamps: Record<string, number> = { 'done.stamps': 0 };
    for (const product of Object.keys(products)) stamps[`products.${product}`] = 0;
    for (const key of Object.keys(series)) stamps[`series.${key}.stamps`] = 0;
    for (const group of groups) for (const path of stampPaths(group)) add(stamps, path, group.stamps);
    // If a process has counted a stamp in the meantime, nothing is written, and the next run recounts the hour.
    const unchanged = { 'done.stamps': done?.stamps ?? { $exists: false } };
    const $set = { ...stamps, ...(isOver && { isRecounted: true as const }) };
    const update = () => hours.updateOne({ _id: hour, ...unchanged }, { $set }, { upsert: !known });
    await inStore(() =>
      update().catch((error) => {
        if (!isDuplicateKey(error)) throw error;
      }),
    );
  }

  return {
    /** Counts stamps that were stored, and stamps that no provider could make. */
    addStamps: (tallies: readonly StampTally[]): void => {
      for (const { idMadeAt, outcome, latencyMs, ...group } of tallies) {
        const series = `series.${keyOfSeries(group)}`;
        const failed = ['done.failed', `${series}.failed`];
        const stamped = [...stampPaths(group), `${series}.latency.${bucketOf(latencyMs)}`];
        const increments = countIn(idMadeAt);
        for (const path of outcome === 'failed' ? failed : stamped) add(increments, path, 1);
      }
    },
    /** Counts other activities at `timeMs`, such as verifications. */
    add: (done: Partial<ActivityTotals>, timeMs: number): void => {
      const increments = countIn(timeMs);
      for (const [activity, amount] of Object.entries(done)) add(increments, `done.${activity}`, amount);
    },
    /** Returns the activities in the hour of `timeMs` and the 23 hours before it, and in total. */
    totals: async (timeMs: number): Promise<{ last24h: ActivityTotals; lifetime: ActivityTotals }> => {
      const first = hourOf(timeMs - 23 * hourMs);
      const [last24h, lifetime] = await Promise.all([sumsOf('done', activities, first), sumsOf('done', activities)]);
      return { last24h, lifetime };
    },
    /** Returns the statistics of the UTC day of `timeMs` and the days before it, `days` in all, newest first. */
    daily: async (days: number, timeMs: number): Promise<DailyFigures[]> => {
      const first = dayOf(hourOf(timeMs - (days - 1) * 24 * hourMs));
      const found = await inStore(() => hours.find({ _id: { $gte: first } }, { projection: { series: 1 }, maxTimeMS }).toArray());
      const all = found.flatMap(({ _id, series = {} }) =>
        Object.entries(series).map(([key, counts]) => ({ date: dayOf(_id), key, counts })),
      );
      return [...Map.groupBy(all, ({ date, key }) => `${date} ${key}`).values()]
        .map((same) => ({ date: same[0]!.date, ...seriesOfKey(same[0]!.key), ...figuresOf(same.map(({ counts }) => counts)) }))
        .filter(({ stamps, failed }) => stamps + failed > 0)
        .sort((a, b) => b.date.localeCompare(a.date) || a.callerKind.localeCompare(b.callerKind) || a.provider.localeCompare(b.provider));
    },
    /** Returns the number of stamps of these products. They are named as in `storedProductOf`. */
    productTotal: async (products: readonly string[]): Promise<number> =>
      Object.values<number>(await sumsOf('products', products.map(keyOfName))).reduce((sum, ofProduct) => sum + ofProduct, 0),
    /** Recounts the hours between the two times from the stamps themselves. Returns the number of hours. */
    recount: async (fromMs: number, toMs: number): Promise<number> => {
      const between = hoursBetween(fromMs, toMs);
      for (const hour of between) await recountHour(hour, false);
      return between.length;
    },
    /** Recounts every hour that ended at least 15 minutes ago, once, and again if a process counts in it later. */
    recountEnded: async (timeMs: number): Promise<void> => {
      const lastMs = timeMs - hourMs - settledAfterMs;
      const due = { _id: { $lte: hourOf(lastMs) }, isRecounted: { $exists: false } };
      const counted = await inStore(() => hours.distinct('_id', due, { maxTimeMS }));
      // An hour of the last day may have stamps but no document.
      for (const hour of new Set([...counted, ...hoursBetween(timeMs - 25 * hourMs, lastMs + 1)])) await recountHour(hour, true);
    },
    /** Writes the pending increments when the process stops. */
    close: async (): Promise<void> => {
      clearTimeout(timer);
      await writing;
      await write();
    },
  };
}

const hourOf = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 13);
const dayOf = (hour: string): string => hour.slice(0, 10);

/** Lists the hours that overlap a span of time, oldest first. */
function hoursBetween(fromMs: number, toMs: number): string[] {
  const hours: string[] = [];
  for (let timeMs = fromMs - (fromMs % hourMs); timeMs < toMs; timeMs += hourMs) hours.push(hourOf(timeMs));
  return hours;
}

/** Encodes a name as the name of a member in a document. Dots and dollar signs are encoded, because they have a meaning in paths of MongoDB. */
const keyOfName = (name: string): string => encodeURIComponent(name).replaceAll('.', '%2E');

const keyOfSeries = ({ callerKind, isQualified, provider }: Series): string =>
  [callerKind, isQualified ? 'qualified' : 'unqualified', provider].map(keyOfName).join(':');

function seriesOfKey(key: string): Series {
  const [callerKind = '', qualification, provider = ''] = key.split(':').map(decodeURIComponent);
  return { callerKind: callerKind as CallerKind, isQualified: qualification === 'qualified', provider };
}

/** Returns the paths of the counters that count the stamps of a group. */
const stampPaths = ({ product, ...series }: Omit<StampGroup, 'stamps'>): string[] => [
  'done.stamps',
  `series.${keyOfSeries(series)}.stamps`,
  ...(product === undefined ? [] : [`products.${keyOfName(product)}`]),
];

function add(counts: Record<string, number>, name: string, amount: number): void {
  counts[name] = (counts[name] ?? 0) + amount;
}

function figuresOf(all: readonly SeriesCounts[]): Pick<DailyFigures, 'stamps' | 'failed' | 'latencyMs'> {
  const sums = { stamps: 0, failed: 0 };
  const latency: Record<string, number> = {};
  for (const { stamps = 0, failed = 0, latency: buckets = {} } of all) {
    sums.stamps += stamps;
    sums.failed += failed;
    for (const [bucket, amount] of Object.entries(buckets)) add(latency, bucket, amount);
  }
  return { ...sums, latencyMs: { p50: quantile(latency, 0.5), p95: quantile(latency, 0.95) } };
}

/**
 * Latencies are counted in buckets. The upper limit of each bucket is 25 % higher than that of the previous bucket. So counting is one increment,
 * the percentiles of a day need no scan, and a percentile is at most 25 % too high.
 */
const growth = 1.25;

/** Returns the bucket of a latency: the smallest n with `growth ** n >= latencyMs`. */
const bucketOf = (latencyMs: number): number => (latencyMs <= 1 ? 0 : Math.ceil(Math.log(latencyMs) / Math.log(growth)));

/** Returns the latency in whole milliseconds that the share `q` (0…1) of all counted latencies does not exceed, or null if none was counted. */
function quantile(latency: Counts, q: number): number | null {
  let rest = q * Object.values(latency).reduce((sum, count) => sum + count, 0);
  // JavaScript lists the buckets in ascending order, because their names are integers.
  for (const [bucket, count] of Object.entries(latency)) {
    rest -= count;
    if (rest <= 0) return Math.ceil(growth ** Number(bucket));
  }
  return null;
}

/** Stored stamps with the same values in all counted fields. */
interface StampGroup {
  readonly callerKind: CallerKind;
  readonly isQualified: boolean;
  readonly provider: string;
  /** The product of the stamps, named as in `storedProductOf`. */
  readonly product: string | undefined;
  readonly stamps: number;
}

/** The maximum number of stamps that one query counts. It is small, so that no query takes longer than `maxTimeMS`. */
const mostPerQuery = 10_000;

/** Counts the stored stamps whose ids were made in a span of time. A group may occur several times. `batches` has the providers of leaves. */
async function countStamps(db: Db, batches: BatchStore, fromMs: number, toMs: number): Promise<StampGroup[]> {
  const found: Document[] = [];
  for (let afterId = firstIdAt(fromMs); afterId; ) {
    const groups = await inStore(() =>
      db
        .collection('stamps')
        .aggregate(grouping(afterId, firstIdAt(toMs)), { maxTimeMS })
        .toArray(),
    );
    found.push(...groups);
    const stamps = groups.reduce((sum, group) => sum + group.stamps, 0);
    afterId = stamps < mostPerQuery ? '' : groups.reduce((last, { lastId }) => (lastId > last ? lastId : last), afterId);
  }
  const batchIdOf = ({ _id: { batch } }: Document): string => (batch ? batch.toString() : '');
  const claims = await batches.findClaims([...new Set(found.map(batchIdOf).filter((id) => id !== ''))]);
  // In a damaged document, each field may have any value.
  return found.map((group) => {
    const { kind, product } = group._id;
    const { provider, isQualified } = claims.get(batchIdOf(group)) ?? group._id;
    return {
      callerKind: typeof kind === 'string' ? (kind as CallerKind) : 'internal',
      isQualified: isQualified === true,
      provider: typeof provider === 'string' ? provider : '',
      product: typeof product === 'string' && product !== '' ? product : undefined,
      stamps: group.stamps,
    };
  });
}

/** Groups the first stamps between two ids by caller and first proof. In a damaged document, `proofs` may be any value. */
function grouping(afterId: string, beforeId: string): Document[] {
  const proof = { $cond: [{ $isArray: '$proofs' }, { $arrayElemAt: ['$proofs', 0] }, null] };
  const ofCaller = { kind: '$caller.kind', product: '$caller.product' };
  const ofProof = { provider: '$proof.provider', isQualified: '$proof.isQualified', batch: '$proof.batch' };
  return [
    { $match: { _id: { $gt: afterId, $lt: beforeId } } },
    { $sort: { _id: 1 } },
    { $limit: mostPerQuery },
    { $project: { caller: 1, proof } },
    { $group: { _id: { ...ofCaller, ...ofProof }, stamps: { $sum: 1 }, lastId: { $max: '$_id' } } },
  ];
}
