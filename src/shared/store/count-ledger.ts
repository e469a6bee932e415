import { randomUUIDv7 } from 'node:crypto';
import type { Collection, Db, UpdateFilter } from 'mongodb';
import { inOnePage } from './connection.ts';
import { type Changes, type CounterRecord, type Figures, fieldsOf } from './counter-rows.ts';
import { inStore, isDuplicateKey } from './errors.ts';

/** A process begins a new ledger after this time, or when one has so many rows: what is written with each job is to stay small. */
const longestMs = 60_000;
const mostRows = 200;

/** A job that is under way for longer is none of this process any more. */
const longestJobMs = 900_000;

/**
 * What one process has counted in a minute, in one document, so that one write counts a job in all its rows and no process waits for another.
 * `rows`: the ids of counter rows by their numbers here; `counts`: what is to be added to each. `jobs`: what was counted for each job that may
 * be done again, by its mark.
 */
export interface Ledger {
  readonly _id: string;
  readonly rows?: Readonly<Record<string, string>>;
  readonly counts?: Readonly<Record<string, Figures>>;
  readonly jobs?: Readonly<Record<string, JobCount>>;
  readonly isClosed?: boolean;
}

/** How many stamps of a job were counted in which row, by its number; by which `run` of the job; and `by` which write of the ledger. Both are counted from 1. */
type JobCount = Readonly<Record<string, number>>;

export type Ledgers = Collection<Ledger>;

export const ledgersOf = (db: Db): Ledgers => db.collection('count_ledgers');

/** What is counted together, for the job of that mark, hexadecimal text, where it may have to be taken back. A mark stands in one of the counts of a write. */
export interface Count {
  readonly mark?: string | undefined;
  /** Which run of the job counts, from 1. */
  readonly run?: number | undefined;
  readonly changes: Changes;
}

/** A write of counts that was begun. */
export interface CountWrite {
  /** @throws ServiceError `store_unavailable`: it may have been written all the same */
  readonly written: Promise<void>;
  /** Takes back what it has counted under a mark, unless that was done before, by whoever did the job again. @throws ServiceError `store_unavailable` */
  takeBack(mark: string): Promise<void>;
}

/** A later run of the job has counted it: this one is not to. */
class OutrunError extends Error {
  override readonly name = 'OutrunError';
}

/** The ledgers of this process. */
export interface LedgerWriter {
  /** In one write. */
  write(counts: readonly Count[]): CountWrite;
  /** Counts in place of whatever earlier runs have counted under the mark, in any process. @throws OutrunError, ServiceError `store_unavailable` */
  settle(mark: string, run: number, changes: Changes): Promise<CountWrite>;
  /** The job of that mark is never done again: its mark goes with the next write. */
  release(mark: string): void;
  /** The job of that mark failed here, and is done again somewhere: its mark stays. */
  leave(mark: string): void;
  /** Closes what can be closed. @throws ServiceError `store_unavailable` */
  close(): Promise<void>;
}

interface OpenLedger {
  readonly id: string;
  readonly beganAt: number;
  readonly numbers: Map<string, number>;
  /** Rows whose numbers are written. */
  readonly known: Set<number>;
  /** Marks of jobs that are under way, and those of jobs that are done. */
  readonly marks: Set<string>;
  readonly released: Set<string>;
  /** Writes so far, and those of them that are under way. */
  begun: number;
  writes: number;
  isThere: boolean;
}

interface Update {
  readonly $inc: Record<string, number>;
  readonly $set: Record<string, unknown>;
  readonly $unset: Record<string, ''>;
}

/** MongoDB takes no empty operator. */
export const filled = (update: object): UpdateFilter<Ledger> =>
  Object.fromEntries(Object.entries(update).filter(([, fields]) => Object.keys(fields).length > 0));

export function createLedgerWriter(ledgers: Ledgers): LedgerWriter {
  const open = new Map<string, OpenLedger>();
  let current: OpenLedger | undefined;
  let timer: NodeJS.Timeout | undefined;

  function begin(): OpenLedger {
    current = {
      id: randomUUIDv7(),
      beganAt: performance.now(),
      numbers: new Map(),
      known: new Set(),
      marks: new Set(),
      released: new Set(),
      begun: 0,
      writes: 0,
      isThere: false,
    };
    open.set(current.id, current);
    clearTimeout(timer);
    timer = setTimeout(() => void end(), longestMs).unref();
    return current;
  }

  /** One with jobs under way is closed with a later one. */
  const end = async () => {
    current = undefined;
    await closeEnded().catch(() => undefined);
  };

  function ledgerToWrite(): OpenLedger {
    if (!current) return begin();
    const isFull = current.numbers.size > mostRows || performance.now() - current.beganAt > longestMs;
    if (!isFull) return current;
    void end();
    return begin();
  }

  function numberOf(ledger: OpenLedger, row: string): number {
    const number = ledger.numbers.get(row) ?? ledger.numbers.size;
    ledger.numbers.set(row, number);
    return number;
  }

  function addChanges({ $inc, $set }: Update, ledger: OpenLedger, changes: Changes): void {
    for (const [row, increments] of changes) {
      const number = numberOf(ledger, row);
      if (!ledger.known.has(number)) $set[`rows.${number}`] = row;
      for (const [figure, value] of Object.entries(increments)) {
        const path = `counts.${number}.${figure}`;
        $inc[path] = ($inc[path] ?? 0) + value;
      }
    }
  }

  /** Of writes that find no ledger at once, one makes it, and the others meet its key. */
  async function apply(ledger: OpenLedger, update: UpdateFilter<Ledger>): Promise<void> {
    const filter = { _id: ledger.id };
    if (!ledger.isThere) {
      try {
        await ledgers.updateOne(filter, update, { upsert: true });
        ledger.isThere = true;
        return;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        ledger.isThere = true;
      }
    }
    await ledgers.updateOne(filter, update);
  }

  function write(counts: readonly Count[]): CountWrite {
    const ledger = ledgerToWrite();
    const update: Update = { $inc: {}, $set: {}, $unset: {} };
    const jobs = new Map<string, JobCount>();
    ledger.begun += 1;
    const by = ledger.begun;
    for (const { mark, run = 1, changes } of counts) {
      addChanges(update, ledger, changes);
      if (mark === undefined) continue;
      ledger.marks.add(mark);
      ledger.released.delete(mark);
      jobs.set(mark, { run, by, ...Object.fromEntries([...changes].map(([row, { stamps = 0 }]) => [numberOf(ledger, row), stamps])) });
    }
    // One member for all rows: a path for each row would cost the database more.
    for (const [mark, counted] of jobs) update.$set[`jobs.${mark}`] = counted;
    const released = [...ledger.released];
    for (const mark of released) update.$unset[`jobs.${mark}`] = '';
    const rows = [...ledger.numbers.values()];
    const send = async () => {
      ledger.writes += 1;
      try {
        await inStore(() => apply(ledger, filled(update)));
      } finally {
        ledger.writes -= 1;
      }
      for (const row of rows) ledger.known.add(row);
      for (const mark of released) ledger.released.delete(mark);
    };
    return {
      written: send(),
      takeBack: async (mark) => {
        const counted = jobs.get(mark);
        if (counted) await uncount(ledger.id, mark, counted);
      },
    };
  }

  /** Two runs of a job in this process may have counted in two ledgers. */
  const letGo = (mark: string): OpenLedger[] => [...open.values()].filter(({ marks }) => marks.delete(mark));

  async function closeEnded(): Promise<void> {
    const isEnded = (ledger: OpenLedger) =>
      (ledger.marks.size === 0 && ledger.writes === 0) || performance.now() - ledger.beganAt > longestJobMs;
    const ended = [...open.values()].filter((ledger) => ledger !== current && isEnded(ledger));
    for (const { id, released } of ended) {
      const $unset = Object.fromEntries([...released].map((mark) => [`jobs.${mark}`, '' as const]));
      await inStore(() => ledgers.updateOne({ _id: id }, filled({ $inc: {}, $set: { isClosed: true }, $unset })));
      open.delete(id);
    }
  }

  /** Subtracts what a ledger has under a mark, if it still has just that: of two who try, one does. */
  async function uncount(ledgerId: string, mark: string, counted: JobCount): Promise<void> {
    const filter = Object.fromEntries(Object.entries(counted).map(([member, value]) => [`jobs.${mark}.${member}`, value]));
    const { run: _run, by: _by, ...stamps } = counted;
    const $inc = Object.fromEntries(Object.entries(stamps).map(([row, value]) => [`counts.${row}.stamps`, -value]));
    await inStore(() => ledgers.updateOne({ _id: ledgerId, ...filter }, filled({ $inc, $unset: { [`jobs.${mark}`]: '' } })));
  }

  return {
    write,
    settle: async (mark, run, changes) => {
      const found = await inStore(() => ledgers.find({ [`jobs.${mark}`]: { $exists: true } }, inOnePage).toArray());
      const counted = found.map(({ _id, jobs }) => ({ _id, count: jobs?.[mark] ?? {} }));
      if (counted.some(({ count }) => (count.run ?? 1) > run)) throw new OutrunError('a later run of the job has counted it');
      for (const { _id, count } of counted) await uncount(_id, mark, count);
      return write([{ mark, run, changes }]);
    },
    release: (mark) => {
      for (const { released } of letGo(mark)) released.add(mark);
    },
    leave: (mark) => void letGo(mark),
    close: async () => {
      clearTimeout(timer);
      current = undefined;
      await closeEnded();
    },
  };
}

/** The rows that ledgers add to, by themselves, but for what is in a row already. */
export function rowsOfLedgers(ledgers: readonly Ledger[], isIn: (row: string, ledger: string) => boolean): CounterRecord[] {
  return ledgers.flatMap(({ _id, rows = {}, counts = {} }) =>
    Object.entries(rows).flatMap(([number, row]) => (isIn(row, _id) ? [] : [{ _id: row, ...fieldsOf(row), ...counts[number] }])),
  );
}
