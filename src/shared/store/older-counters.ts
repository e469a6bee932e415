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
 * Until version 0.3.0 the collection `counters` had one row per figure and day, per hour, per product and in total, and `count_ledgers` had counts
 * of processes that were not yet added to the rows. Both stay unchanged.
 */
interface OlderRow extends Partial<ActivityTotals> {
  readonly _id: string;
  readonly latency?: Readonly<Record<string, number>>;
  /** The ledgers that were added to the row, and when. */
  readonly folded?: Readonly<Record<string, unknown>>;
}

interface OlderLedger {
  readonly _id: string;
  /** The ids of rows by their numbers in this ledger, and the increments of each. */
  readonly rows?: Readonly<Record<string, string>>;
  readonly counts?: Readonly<Record<string, Omit<OlderRow, '_id'>>>;
}

export const olderCountsId = 'older';

/** Counts of an earlier version without a date. */
export interface OlderCounts extends PeriodDocument {
  /** This version did not count hours before this one. */
  readonly before: string;
  /** When the counters were first taken over. */
  readonly takenAt: Date;
  readonly isComplete?: boolean;
}

const dayRow = /^day:([^:]*):([^:]*):([^:]*):(.*)$/s;

async function readRows(db: Db): Promise<OlderRow[]> {
  // The ledgers first: if an earlier version adds one to the rows meanwhile, the rows show it.
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
 * Takes over the counts of earlier versions, once. Days before the first run keep their counts. The stamps of that day are counted hour by hour
 * from the stamps, and counts without a date get their own document. May be interrupted anywhere, and run in several processes at once.
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
    // Separate from this version's document of the hour.
    _id: `${id}${olderCountsId}`,
    ...mergeCounts(same.map(({ counted }) => counted)),
  }));
  const ofToday = await countStamps(midnight, takenAt.getTime());
  const older = subtract(mergeCounts(undated), mergeCounts([...dated, ofToday]));
  for (const document of dated) {
    await inStore(() => options.counts.replaceOne({ _id: document._id }, document, { upsert: true }));
  }
  // The first process to finish wins. It takes jobs from now on, so the counts of the others may be too high.
  const ofIncomplete = { ...ofOlder, isComplete: { $exists: false } };
  if (!(await inStore(() => counts.findOne(ofIncomplete, { maxTimeMS })))) return;
  await recountHours(hoursBetween(midnight, takenAt.getTime()));
  await inStore(() => counts.updateOne(ofIncomplete, { $set: { ...older, isComplete: true } }));
}

/** The counts of the first without those of the second; never below zero. */
function subtract(first: PeriodCounts, second: PeriodCounts): PeriodCounts {
  const rest = (all: Readonly<Record<string, number>> = {}, taken: Readonly<Record<string, number>> = {}) =>
    Object.fromEntries(Object.entries(all).map(([name, value]) => [name, Math.max(0, value - (taken[name] ?? 0))]));
  return {
    done: rest(first.done as Record<string, number>, second.done as Record<string, number>),
    products: rest(first.products, second.products),
  };
}
