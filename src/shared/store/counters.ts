import type { Collection, Db } from 'mongodb';
import type { CallerKind } from '../domain/caller.ts';
import { quantile } from '../domain/latency-histogram.ts';
import { inOnePage } from './connection.ts';
import { type CountWrite, createLedgerWriter, ledgersOf, rowsOfLedgers } from './count-ledger.ts';
import {
  type ActivityTotals,
  type CounterRecord,
  changesOf,
  changesOfActivity,
  fieldsOf,
  hoursUntil,
  isOfHoursUntil,
  latenciesOf,
  lifetimeId,
  productId,
  type StampTally,
  totalsOf,
} from './counter-rows.ts';
import { inStore } from './errors.ts';
import { type FoldedRecord, foldLedgers } from './ledger-folding.ts';
import { type StampSummary, storedProductOf } from './stamp-document.ts';

export type { CountWrite } from './count-ledger.ts';
export { type Activity, type ActivityTotals, type StampTally, utcDay } from './counter-rows.ts';

/** What a stored stamp counts for, when the counters are made anew. Its latency is not known any more. */
export const tallyOfRecord = ({ issuedAt, provider, isQualified, caller, imprint }: StampSummary): StampTally => ({
  finishedAt: Date.parse(issuedAt),
  provider,
  isQualified,
  callerKind: caller.kind,
  product: storedProductOf(caller, imprint),
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

/** Stamps that are counted together. `mark`: of the job that makes them, where it may be done again; `run`: which run of it does, from 1. */
export interface Tallied {
  readonly mark?: string | undefined;
  readonly run?: number | undefined;
  readonly tallies: readonly StampTally[];
}

/** Failures reject with a ServiceError `store_unavailable`. */
export interface CounterStore {
  /** Adds finished stamps in one write. */
  add(counted: readonly Tallied[]): CountWrite;
  /** Counts these stamps in place of whatever earlier runs of the job have counted: nobody knows how far they got. Rejects where a later run has counted. */
  settle(counted: Tallied & { readonly mark: string; readonly run: number }): Promise<CountWrite>;
  /** The run of a job with that mark has ended: the job is done, or is done again by whoever gets it. */
  runEnded(mark: string, isDone: boolean): void;
  /** Adds what is no stamp, done at `timeMs`. */
  count(done: Partial<ActivityTotals>, timeMs: number): Promise<void>;
  /** What was done in the hour of `timeMs` and the 23 before it, and ever; its cost is 25 rows, and a ledger or two for each process. */
  totals(timeMs: number): Promise<{ last24h: ActivityTotals; lifetime: ActivityTotals }>;
  /** Rows of the days from `since` (`YYYY-MM-DD`) on, newest first; its cost is the number of rows. */
  daily(since: string): Promise<DailyFigures[]>;
  /** Of a product's stamps of SHA-256, or of the others: `othersOf`. */
  productTotal(product: string): Promise<number>;
  /** Adds to the rows what ended processes, and ended minutes of others, have counted. `timeMs`: now. */
  fold(timeMs: number): Promise<void>;
  /** Replaces every stamp count by what `tallies` adds up to at `timeMs`; all other figures are kept as they are. */
  repair(tallies: AsyncIterable<StampTally>, timeMs: number): Promise<void>;
  /** To be called when the process stops. */
  close(): Promise<void>;
}

/** One day of one provider for one kind of caller. */
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

export function createCounterStore(db: Db): CounterStore {
  const counters: Collection<FoldedRecord> = db.collection('counters');
  const ledgers = ledgersOf(db);
  const ledger = createLedgerWriter(ledgers);

  /** The rows that fit, and what ledgers add to them. The ledgers are read first: one that is folded meanwhile is told by its rows. */
  async function read(belongs: (id: string) => boolean, filter: Parameters<typeof counters.find>[0]): Promise<CounterRecord[]> {
    const open = await inStore(() => ledgers.find({}, { projection: { rows: 1, counts: 1 }, ...inOnePage }).toArray());
    const rows = await inStore(() => counters.find(filter, inOnePage).toArray());
    const foldedInto = new Map(rows.map(({ _id, folded = {} }) => [_id, folded]));
    const ofLedgers = rowsOfLedgers(open, (row, ledgerId) => foldedInto.get(row)?.[ledgerId] !== undefined);
    return [...rows, ...ofLedgers.filter(({ _id }) => belongs(_id))];
  }

  return {
    add: (counted) => ledger.write(counted.map(({ mark, run, tallies }) => ({ mark, run, changes: changesOf(tallies) }))),
    settle: ({ mark, run, tallies }) => ledger.settle(mark, run, changesOf(tallies)),
    runEnded: (mark, isDone) => void (isDone ? ledger.release(mark) : ledger.leave(mark)),
    count: (done, timeMs) => ledger.write([{ changes: changesOfActivity(done, timeMs) }]).written,
    totals: async (timeMs) => {
      const isShown = isOfHoursUntil(timeMs);
      const rows = await read((id) => id === lifetimeId || isShown(id), { $or: [{ _id: lifetimeId }, { _id: hoursUntil(timeMs) }] });
      const [lifetime, hours] = [rows.filter(({ _id }) => _id === lifetimeId), rows.filter(({ _id }) => _id !== lifetimeId)];
      return { last24h: totalsOf(hours), lifetime: totalsOf(lifetime) };
    },
    daily: async (since) => {
      const rows = await read((id) => (fieldsOf(id).date ?? '') >= since, { date: { $gte: since } });
      return [...Map.groupBy(rows, ({ _id }) => _id).values()]
        .flatMap(([first, ...others]) => (first ? [figuresOf([first, ...others])] : []))
        .sort((a, b) => b.date.localeCompare(a.date) || a.callerKind.localeCompare(b.callerKind) || a.provider.localeCompare(b.provider));
    },
    productTotal: async (product) => {
      const row = productId(product);
      return totalsOf(await read((id) => id === row, { _id: row })).stamps;
    },
    fold: (timeMs) => foldLedgers(ledgers, counters, timeMs),
    repair: async (tallies, timeMs) => {
      const stamps = new Map<string, number>();
      for await (const tally of tallies) {
        for (const [id, { stamps: counted = 0 }] of changesOf([{ ...tally, latencyMs: undefined }])) {
          const { expiresAt } = fieldsOf(id);
          if (!expiresAt || expiresAt.getTime() > timeMs) stamps.set(id, (stamps.get(id) ?? 0) + counted);
        }
      }
      for (const { _id, rows = {} } of await inStore(() => ledgers.find({}, inOnePage).toArray())) {
        const $set = Object.fromEntries(Object.keys(rows).map((number) => [`counts.${number}.stamps`, 0]));
        await inStore(() => ledgers.updateOne({ _id }, { ...(Object.keys($set).length > 0 && { $set }), $unset: { jobs: '' } }));
      }
      await inStore(() => counters.updateMany({ _id: { $nin: [...stamps.keys()] } }, { $set: { stamps: 0 } }));
      for (const [id, counted] of stamps) {
        await inStore(() => counters.updateOne({ _id: id }, { $setOnInsert: fieldsOf(id), $set: { stamps: counted } }, { upsert: true }));
      }
    },
    close: () => ledger.close(),
  };
}
