import type { Db } from 'mongodb';
import { expect, onTestFinished, test } from 'vitest';
import { type CounterStore, type CountWrite, createCounterStore, type StampTally, type Tallied } from '../../src/shared/store/counters.ts';
import { collectionOf, openDatabase } from '../support/database.ts';
import { freshStore } from '../support/servers.ts';

const now = Date.parse('2026-11-22T12:30:00.000Z');
const day = '2026-11-22';

const tally: StampTally = {
  finishedAt: now,
  provider: 'mock v1.2 $',
  isQualified: false,
  callerKind: 'internal',
  product: 'test',
  outcome: 'stamped',
  latencyMs: 8,
};

/** Rows as version 0.2.0 wrote them. */
const rowsOfOlderVersion = [
  { _id: 'lifetime', stamps: 5, verifications: 2 },
  { _id: `hour:${new Date(now - 3_600_000).toISOString().slice(0, 13)}`, expiresAt: new Date(now + 86_400_000), stamps: 5 },
  {
    _id: `day:${day}:internal:unqualified:mock v1.2 $`,
    date: day,
    provider: 'mock v1.2 $',
    isQualified: false,
    callerKind: 'internal',
    stamps: 5,
  },
  { _id: 'product:test', stamps: 5 },
];

const openFresh = (): Promise<Db> => openDatabase({ settings: { MONGODB_URL: freshStore().MONGODB_URL } });

async function add(counters: CounterStore, counted: readonly Tallied[]): Promise<CountWrite> {
  const write = counters.add(counted);
  await write.written;
  return write;
}

/** Counts what a run of a job has made, and waits for it. */
async function settle(counters: CounterStore, mark: string, tallies: readonly StampTally[], run = 2): Promise<CountWrite> {
  const write = await counters.settle({ mark, run, tallies });
  await write.written;
  return write;
}

/** A process that counts. */
function startCounting(db: Db) {
  const counters = createCounterStore(db);
  onTestFinished(counters.close);
  return counters;
}

async function totalOf(db: Db): Promise<number> {
  const counters = startCounting(db);
  const { lifetime, last24h } = await counters.totals(now);
  expect([last24h.stamps, await counters.productTotal('test')]).toEqual([lifetime.stamps, lifetime.stamps]);
  return lifetime.stamps;
}

test('S12: each process counts in a document of its own, and every total is their sum with what an older version counted', async () => {
  const db = await openFresh();
  await collectionOf(db, 'counters').insertMany(rowsOfOlderVersion);
  const processes = Array.from({ length: 4 }, () => startCounting(db));
  await Promise.all(
    processes.flatMap((counters, index) => [
      add(counters, [
        { mark: `a${index}`, tallies: index === 0 ? [tally] : [tally, tally] },
        { tallies: [{ ...tally, outcome: 'failed', latencyMs: undefined }] },
      ]),
      counters.count({ verifications: 1 }, now),
    ]),
  );
  expect(await collectionOf(db, 'count_ledgers').countDocuments()).toBe(4);

  const readAll = async () => {
    const reader = startCounting(db);
    const { lifetime, last24h } = await reader.totals(now);
    return [await reader.productTotal('test'), lifetime, last24h, await reader.daily(day)];
  };
  const others = { failed: 4, workflowsStarted: 0, workflowsCompleted: 0, renewed: 0 };
  const figures = { date: day, provider: 'mock v1.2 $', isQualified: false, callerKind: 'internal', stamps: 12, failed: 4 };
  const right = [
    12,
    { ...others, stamps: 12, verifications: 6 },
    { ...others, stamps: 12, verifications: 4 },
    [{ ...figures, latencyMs: { p50: 10, p95: 10 } }],
  ];
  expect(await readAll()).toEqual(right);

  for (const [index, counters] of processes.entries()) {
    counters.runEnded(`a${index}`, true);
    await counters.close();
  }
  const folder = startCounting(db);
  await Promise.all([folder.fold(now), folder.fold(now)]);
  expect([await collectionOf(db, 'count_ledgers').countDocuments(), await readAll()]).toEqual([0, right]);
  expect(await collectionOf(db, 'counters').findOne({ _id: /^hour:2026-11-22T12/ as never })).toMatchObject({
    stamps: 7,
    expiresAt: new Date('2026-11-23T13:00:00Z'),
  });
  const isMarked = () => collectionOf(db, 'counters').countDocuments({ folded: { $exists: true } });
  expect(await isMarked()).toBe(4);
  await folder.fold(now + 3_600_000);
  expect([await isMarked(), await readAll()]).toEqual([0, right]);
});

test('S12: a job that is done again counts once, whether the killed run had counted all, nothing, or what it never stored', async () => {
  const db = await openFresh();
  const [killed, other] = [startCounting(db), startCounting(db)];
  await add(killed, [
    { mark: 'aa', tallies: [tally, tally, tally] },
    { mark: 'bb', tallies: [tally] },
    { mark: 'cc', tallies: [tally] },
  ]);
  // Two of three were stored; none was; one that was stored was never counted.
  await settle(other, 'aa', [tally, tally]);
  await settle(other, 'bb', []);
  await settle(other, 'dd', [tally]);
  expect(await totalOf(db)).toBe(4);
  // And once more, by the process itself.
  await settle(other, 'aa', [tally, tally, tally]);
  await settle(other, 'aa', [tally, tally, tally]);
  await settle(killed, 'cc', [tally]);
  expect(await totalOf(db)).toBe(5);
});

test('S12: what a killed process has left is counted as long as its jobs may be done again, and then for ever', async () => {
  const db = await openFresh();
  const killed = startCounting(db);
  await add(killed, [{ mark: 'aa', tallies: [tally] }]);
  const folder = startCounting(db);
  await folder.fold(Date.now());
  expect([await totalOf(db), await collectionOf(db, 'count_ledgers').countDocuments()]).toEqual([1, 1]);
  await folder.fold(Date.now() + 25 * 3_600_000);
  expect([await totalOf(db), await collectionOf(db, 'count_ledgers').countDocuments()]).toEqual([1, 0]);
});

test('S12: a fold that was cut off after any of its writes is finished by the next one, and no total is wrong meanwhile', async () => {
  const db = await openFresh();
  const counters = startCounting(db);
  await add(counters, [{ mark: 'aa', tallies: [tally, tally] }]);
  counters.runEnded('aa', true);
  await counters.close();
  const ledger = await collectionOf(db, 'count_ledgers').findOne();
  const folder = startCounting(db);
  await folder.fold(now);
  // As if it had got no further than one row, and then no further than the ledger.
  for (const undone of ['product:test', 'lifetime']) {
    await collectionOf(db, 'counters').deleteOne({ _id: undone });
    await collectionOf(db, 'count_ledgers').insertOne(ledger as never);
    expect(await totalOf(db)).toBe(2);
    await folder.fold(now);
    expect([await totalOf(db), await collectionOf(db, 'count_ledgers').countDocuments()]).toEqual([2, 0]);
  }
});

test('S12: writes that meet in a new ledger all count, and what another run counts is counted once', async () => {
  const db = await openFresh();
  const counters = startCounting(db);
  const marks = Array.from({ length: 16 }, (_, index) => `a${index}`);
  await Promise.all([
    ...marks.map((mark) => add(counters, [{ mark, tallies: [tally] }])),
    ...marks.map(() => add(counters, [{ tallies: [tally] }])),
  ]);
  expect(await totalOf(db)).toBe(32);
  const other = startCounting(db);
  await settle(other, 'a0', [tally]);
  await settle(other, 'a1', []);
  expect(await totalOf(db)).toBe(31);
});

test('S12: what a write has counted for a job is taken back once, and not what another run of the job has counted', async () => {
  const db = await openFresh();
  const [lost, other] = [startCounting(db), startCounting(db)];
  const { takeBack } = await add(lost, [
    { mark: 'aa', tallies: [tally, tally] },
    { mark: 'bb', tallies: [tally] },
  ]);
  await Promise.all([takeBack('aa'), takeBack('aa'), takeBack('none')]);
  expect(await totalOf(db)).toBe(1);
  await settle(other, 'aa', [tally, tally]);
  await takeBack('aa');
  expect(await totalOf(db)).toBe(3);
  // The run that counts may be one of the same process.
  await settle(lost, 'bb', [tally]);
  await takeBack('bb');
  expect(await totalOf(db)).toBe(3);
  const settled = await settle(lost, 'bb', [tally]);
  await settled.takeBack('bb');
  expect(await totalOf(db)).toBe(2);
});

test('E11: a run that stood still takes no count from a later one', async () => {
  const db = await openFresh();
  const [lost, other] = [startCounting(db), startCounting(db)];
  await add(lost, [{ mark: 'aa', tallies: [tally] }]);
  await settle(other, 'aa', [tally, tally], 3);
  await expect(settle(lost, 'aa', [tally], 2)).rejects.toThrow('a later run');
  expect(await totalOf(db)).toBe(2);
  await settle(lost, 'aa', [tally, tally], 4);
  expect(await totalOf(db)).toBe(2);
});
