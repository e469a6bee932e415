import type { Collection, Db } from 'mongodb';
import type { CallerKind } from '../domain/caller.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import {
  type ActivityTotals,
  dayOf,
  hoursBetween,
  keyOfName,
  keyOfSeries,
  mergeCounts,
  type PeriodCounts,
  type PeriodDocument,
  totalsOf,
  utcDay,
} from './period-counts.ts';
import type { StampCounts } from './stamp-counts.ts';

/**
 * A row of the collection `counters`, which versions before 0.3.0 used. It had rows for days, for hours, for products and for totals. The collection
 * `count_ledgers` had counts of processes that were not added to the rows yet. Both collections stay unchanged.
 */
interface OlderRow extends Partial<ActivityTotals> {
  readonly _id: string;
  readonly latency?: Readonly<Record<string, number>>;
  /** The ledgers that were added to the row, and when. */
  readonly folded?: Readonly<Record<string, unknown>>;
}

interface OlderLedger {
  readonly _id: string;
  /** The ids of rows, by their numbers in this ledger. */
  readonly rows?: Readonly<Record<string, string>>;
  /** The increments of each row, by its number in this ledger. */
  readonly counts?: Readonly<Record<string, Omit<OlderRow, '_id'>>>;
}

export const olderCountsId = 'older';

/** The document with all counts of an earlier version that have no date. */
export interface OlderCounts extends PeriodDocument {
  /** The first hour that this version counts. */
  readonly before: string;
  /** When the counters were first taken over. */
  readonly takenAt: Date;
  readonly isComplete?: boolean;
}

const dayRow = /^day:([^:]*):([^:]*):([^:]*):(.*)$/s;

async function readRows(db: Db): Promise<OlderRow[]> {
  // Read the ledgers before the rows. If an earlier version adds a ledger to the rows in between, the rows show it.
  const ledgers = await inStore(() => db.collection<OlderLedger>('count_ledgers').find({}, { maxTimeMS }).toArray());
  const rows = await inStore(() => db.collection<OlderRow>('counters').find({}, { maxTimeMS }).toArray());
  const foldedInto = new Map(rows.map(({ _id, folded = {} }) => [_id, folded]));
  const ofLedgers = ledgers.flatMap(({ _id: ledger, rows: ids = {}, counts = {} }) =>
    Object.entries(ids).flatMap(([number, _id]) => (foldedInto.get(_id)?.[ledger] === undefined ? [{ ...counts[number], _id }] : [])),
  );
  return [...rows, ...ofLedgers];
}

const doneOf = ({ _id: _, latency: __, folded: ___, ...figures }: OlderRow): Partial<ActivityTotals> => totalsOf([{ done: figures }]);

/**
 * Takes over the counts of earlier versions, once. Days before the day of the first run keep their counts. On this day, the stamps themselves are
 * counted hour by hour. Counts without a date get their own document. It may be interrupted anywhere, and several processes may run it at once.
 */
export async function takeOverOlderCounters(options: {
  db: Db;
  counts: Collection<PeriodDocument>;
  countStamps: StampCounts['count'];
  recountHours: (hours: readonly string[]) => Promise<void>;
  timeMs: number;
}): Promise<void> {
  const { db, countStamps, recountHours, timeMs } = options;
  const counts: Collection<OlderCounts> = db.collection(options.counts.collectionName);
  const rows = await readRows(db);
  if (rows.length === 0) return;
  const begun = { before: `${utcDay(timeMs)}T00`, takenAt: new Date(timeMs) };
  const ofOlder = { _id: olderCountsId };
  const { before, takenAt, isComplete } = (await inStore(() =>
    counts.findOneAndUpdate(ofOlder, { $setOnInsert: begun }, { upsert: true, returnDocument: 'after' }),
  ))!;
  if (isComplete) return;

  const today = dayOf(before);
  const midnight = Date.parse(today);
  const parts: { readonly id: string; readonly counted: PeriodCounts }[] = [];
  const undated: PeriodCounts[] = [];
  for (const row of rows) {
    const { _id, latency = {}, stamps = 0, failed = 0 } = row;
    const [, date, callerKind, qualification, provider = ''] = dayRow.exec(_id) ?? [];
    if (date !== undefined) {
      const key = keyOfSeries({ callerKind: callerKind as CallerKind, isQualified: qualification === 'qualified', provider });
      parts.push({ id: `${date}T00`, counted: { series: { [key]: { stamps: date < today ? stamps : 0, failed, latency } } } });
    } else if (_id.startsWith('hour:')) {
      const hour = _id.slice('hour:'.length);
      parts.push({ id: hour, counted: { done: { ...doneOf(row), stamps: dayOf(hour) < today ? stamps : 0 } } });
    } else if (_id.startsWith('product:')) {
      undated.push({ products: { [keyOfName(_id.slice('product:'.length))]: stamps } });
    } else {
      undated.push({ done: doneOf(row) });
    }
  }
  const dated = [...Map.groupBy(parts, ({ id }) => id)].map(([id, same]) => ({
    // The id differs from the id of this version's document for the same hour.
    _id: `${id}${olderCountsId}`,
    ...mergeCounts(same.map(({ counted }) => counted)),
  }));
  const ofToday = await countStamps(midnight, takenAt.getTime());
  const older = subtract(mergeCounts(undated), mergeCounts([...dated, ofToday]));
  for (const document of dated) {
    await inStore(() => options.counts.replaceOne({ _id: document._id }, document, { upsert: true }));
  }
  // The first process that finishes wins. It takes jobs from now on, so the counts of the other processes may be too high.
  const ofIncomplete = { ...ofOlder, isComplete: { $exists: false } };
  if (!(await inStore(() => counts.findOne(ofIncomplete, { maxTimeMS })))) return;
  await recountHours(hoursBetween(midnight, takenAt.getTime()));
  await inStore(() => counts.updateOne(ofIncomplete, { $set: { ...older, isComplete: true } }));
}

/** Returns the counts of `first` minus those of `second`, but never less than zero. */
function subtract(first: PeriodCounts, second: PeriodCounts): PeriodCounts {
  const rest = (all: Readonly<Record<string, number>> = {}, taken: Readonly<Record<string, number>> = {}) =>
    Object.fromEntries(Object.entries(all).map(([name, value]) => [name, Math.max(0, value - (taken[name] ?? 0))]));
  return {
    done: rest(first.done as Record<string, number>, second.done as Record<string, number>),
    products: rest(first.products, second.products),
  };
}
