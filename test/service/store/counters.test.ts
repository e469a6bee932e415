import { randomBytes } from 'node:crypto';
import type { Db } from 'mongodb';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { sha256Imprint } from '../../../src/shared/domain/stamp.ts';
import { firstIdAt } from '../../../src/shared/domain/stamp-id.ts';
import { connectStore } from '../../../src/shared/store/connection.ts';
import { createCounterStore, type StampTally } from '../../../src/shared/store/counters.ts';
import { openStore } from '../../../src/shared/store/store.ts';
import { makeBatchedStamps } from '../../support/batched-stamps.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { freshStore } from '../../support/servers.ts';
import { createTsaLab } from '../../support/tsa-lab.ts';

const at = (time: string): number => Date.parse(`2026-${time}Z`);
const now = at('05-20T12:30');
const log = pino({ level: 'silent' });

const tally = {
  idMadeAt: now,
  provider: 'tsa: v1.2 $',
  isQualified: false,
  callerKind: 'internal',
  product: 'a.b $c:d',
  outcome: 'stamped',
  latencyMs: 8,
} as const satisfies StampTally;

type Opened = Awaited<ReturnType<typeof openFresh>>;

async function openFresh() {
  const settings = freshStore();
  const store = openStore(settings, log);
  onTestFinished(() => store.close());
  return { store, counters: store.counters, db: await openDatabase({ settings: { MONGODB_URL: settings.MONGODB_URL } }) };
}

/** Counts like a process that then ends and writes the rest. */
async function count({ store, db }: Opened, tallies: readonly StampTally[]): Promise<void> {
  const counters = createCounterStore(db, { batches: store.batches, log });
  counters.addStamps(tallies);
  await counters.close();
}

const idAt = (timeMs: number): string => {
  const random = randomBytes(9).toString('hex');
  return `${firstIdAt(timeMs)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6)}`;
};

/** Stores stamps whose ids have this time, without counting them. */
async function storeStamps({ store }: Opened, timeMs: number, stamps: number): Promise<void> {
  const issuedAt = new Date(timeMs).toISOString();
  const proof = { kind: 'mock', token: 'token', provider: tally.provider, isQualified: false, issuedAt } as const;
  await store.stamps.insertOnce(
    Array.from({ length: stamps }, () => ({
      tokenId: idAt(timeMs),
      imprint: sha256Imprint('a'.repeat(64)),
      proofs: [proof],
      tier: 'basic',
      caller: { kind: tally.callerKind, product: tally.product },
      acceptedAt: new Date(timeMs),
      requestId: 'test',
    })),
  );
}

/** Stores and counts a stamp. */
async function stamp(opened: Opened, timeMs: number): Promise<void> {
  await storeStamps(opened, timeMs, 1);
  await count(opened, [{ ...tally, idMadeAt: timeMs }]);
}

const rowOf = (db: Db, _id: string) => collectionOf(db, 'counts').findOne({ _id });
/** Long after, when no hour is recounted. */
const later = now + 6 * 3_600_000;
const stampsEver = async ({ counters }: Opened) => (await counters.totals(later)).lifetime.stamps;

test('S12: stamps count in the hour of their id, by product, provider, qualification and caller; several processes count at once', async () => {
  const opened = await openFresh();
  const { counters } = opened;
  const qualified = { ...tally, isQualified: true, provider: 'other' };
  await Promise.all([
    ...Array.from({ length: 3 }, () => count(opened, [tally, { ...tally, latencyMs: 1_000 }])),
    count(opened, [qualified, { ...qualified, callerKind: 'tsa', product: undefined }]),
    count(opened, [{ ...tally, outcome: 'failed' }]),
    // The last 24 hours are this one and the 23 before it.
    count(opened, [{ ...tally, idMadeAt: at('05-19T19:00') }]),
    count(opened, [{ ...tally, idMadeAt: at('05-19T18:59'), product: 'a' }]),
  ]);
  const of = (
    date: string,
    { provider, isQualified, callerKind }: StampTally,
    stamps: number,
    failed: number,
    p50: number,
    p95: number,
  ) => ({
    ...{ provider, isQualified, callerKind, date, stamps, failed },
    latencyMs: { p50, p95 },
  });
  expect(await counters.daily('2026-05-19', later)).toEqual([
    of('2026-05-20', qualified, 1, 0, 10, 10),
    of('2026-05-20', tally, 6, 1, 10, 1_010),
    of('2026-05-20', { ...qualified, callerKind: 'tsa' }, 1, 0, 10, 10),
    of('2026-05-19', tally, 2, 0, 10, 10),
  ]);
  expect(await counters.daily('2026-05-20', later)).toHaveLength(3);
  expect(await counters.productTotal([tally.product])).toBe(8);
  expect(await counters.productTotal([tally.product, 'a', 'nobody'])).toBe(9);
  const { last24h, lifetime } = await counters.totals(later);
  expect([last24h.stamps, last24h.failed, lifetime.stamps, lifetime.failed]).toEqual([9, 1, 10, 1]);
});

test('S12: other events are counted too; all counts are written within a moment, and when the process stops', async () => {
  const { counters } = await openFresh();
  counters.add({ verifications: 2, workflowsStarted: 1 }, now);
  counters.add({ verifications: 1, renewed: 3 }, now - 48 * 3_600_000);
  const readTotals = () => counters.totals(later);
  await eventually(async () => (await readTotals()).lifetime.verifications === 3);
  counters.add({ workflowsCompleted: 1 }, now);
  await counters.close();
  const none = { stamps: 0, failed: 0, renewed: 0 };
  const { last24h, lifetime } = await readTotals();
  expect(last24h).toEqual({ ...none, verifications: 2, workflowsStarted: 1, workflowsCompleted: 1 });
  expect(lifetime).toEqual({ ...last24h, verifications: 3, renewed: 3 });
});

test('S12: the stamps of the current hour are counted on request, while the rows say 10 000 or fewer', async () => {
  const opened = await openFresh();
  const { counters, db } = opened;
  await stamp(opened, now - 10 * 60_000);
  await count(opened, [{ ...tally, outcome: 'failed' }]);
  await storeStamps(opened, now - 60_000, 4);
  const [figures] = await counters.daily('2026-05-20', now);
  expect(figures).toMatchObject({ stamps: 5, failed: 1, latencyMs: { p50: 10 } });
  const { last24h, lifetime } = await counters.totals(now);
  expect([last24h.stamps, last24h.failed, lifetime.stamps]).toEqual([5, 1, 5]);
  // The hour has just ended, and is over.
  expect((await counters.totals(at('05-20T13:00'))).lifetime.stamps).toBe(5);
  expect((await counters.totals(at('05-20T13:01'))).lifetime.stamps).toBe(1);
  await collectionOf(db, 'counts').updateOne({ _id: '2026-05-20T12' }, { $set: { 'done.stamps': 10_001 } });
  expect((await counters.totals(now)).lifetime.stamps).toBe(10_001);
});

test('S12: an hour that ended 15 minutes ago is recounted once from the stored stamps', async () => {
  const opened = await openFresh();
  const { counters, db } = opened;
  // One hour is missing after a killed process, and another was counted twice.
  await storeStamps(opened, at('05-20T10:59:59.999'), 2);
  await count(opened, [{ ...tally, idMadeAt: at('05-20T10:10'), outcome: 'failed', provider: 'away' }]);
  await stamp(opened, at('05-20T11:00'));
  await count(opened, [
    { ...tally, idMadeAt: at('05-20T11:00') },
    { ...tally, idMadeAt: at('05-20T11:00'), provider: 'nobody', product: 'never stored' },
  ]);
  counters.add({ verifications: 7 }, at('05-20T11:20'));
  await counters.close();
  expect(await stampsEver(opened)).toBe(3);

  await counters.recountEnded(at('05-20T12:14:59.999'));
  expect(await stampsEver(opened)).toBe(5);
  await counters.recountEnded(at('05-20T12:15'));
  expect(await stampsEver(opened)).toBe(3);
  expect(await counters.productTotal([tally.product, 'never stored'])).toBe(3);
  expect((await counters.totals(later)).lifetime).toMatchObject({ failed: 1, verifications: 7 });
  expect(await counters.daily('2026-05-20', later)).toMatchObject([
    { provider: 'away', stamps: 0, failed: 1, latencyMs: { p50: null, p95: null } },
    { provider: tally.provider, stamps: 3, failed: 0, latencyMs: { p50: 10, p95: 10 } },
  ]);

  await storeStamps(opened, at('05-20T11:30'), 1);
  await counters.recountEnded(at('05-20T13:20'));
  expect(await stampsEver(opened)).toBe(3);
  // By command it can be recounted any number of times; here one hour of two.
  expect(await counters.recount(at('05-20T11:00'), at('05-20T12:00'))).toBe(1);
  expect([await stampsEver(opened), await rowOf(db, '2026-05-20T12')]).toEqual([4, null]);
});

test('S12: if a worker that was frozen counts after the recount of its hour, the next recount corrects it', async () => {
  const opened = await openFresh();
  await storeStamps(opened, at('05-20T11:00'), 1);
  await opened.counters.recountEnded(at('05-20T12:15'));
  await count(opened, [{ ...tally, idMadeAt: at('05-20T11:00') }]);
  expect(await stampsEver(opened)).toBe(2);
  await opened.counters.recountEnded(at('05-20T13:15'));
  expect(await stampsEver(opened)).toBe(1);
});

test('S12: an hour that was recounted before it ended is recounted when it has ended', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now });
  onTestFinished(() => void vi.useRealTimers());
  const opened = await openFresh();
  await storeStamps(opened, now - 60_000, 1);
  await opened.counters.recount(now, now + 1);
  await storeStamps(opened, now + 60_000, 1);
  vi.setSystemTime(at('05-20T13:15'));
  await opened.counters.recountEnded(at('05-20T13:15'));
  expect(await stampsEver(opened)).toBe(2);
});

test('S12, V1: the recount includes leaves of batches, stamps of version 0.2.0 and damaged documents', async () => {
  const opened = await openFresh();
  const { store, counters, db } = opened;
  const { batch, stamps, leaves } = makeBatchedStamps(createTsaLab(), 3);
  await store.batches.insertOnce(batch, leaves);
  await store.stamps.insertOnce(stamps.map((leaf) => ({ ...leaf, tokenId: idAt(now) })));
  const caller = { kind: 'agent', product: 'p' };
  await collectionOf(db, 'stamps').insertMany(
    [
      { hash: 'a'.repeat(64), token: 'token', provider: 'flat', isQualified: true, issuedAt: '2026-05-20T12:30:00Z', caller },
      { proofs: 'gone', caller },
      { proofs: [null], caller },
      { proofs: [], caller: null },
      { proofs: [{ kind: 'leaf', batch: 'no id' }], caller },
      { proofs: [{ kind: 'leaf', batch: 7 }], caller },
      { proofs: [{ kind: 'token', provider: 7, isQualified: 'yes' }], caller: { kind: 7, product: 7 } },
      { proofs: [{ kind: 'token', provider: 'p' }], caller: { kind: 'a.$b', product: '' } },
    ].map((document) => ({ _id: idAt(now), ...document })),
  );
  await counters.recount(now, now + 1);
  expect([await stampsEver(opened), await counters.productTotal(['test', 'p'])]).toEqual([11, 8]);
  const days = await counters.daily('2026-05-20', later);
  expect(days.reduce((sum, { stamps: ofSeries }) => sum + ofSeries, 0)).toBe(11);
  const rows = days.map(({ provider, callerKind, isQualified, stamps: made }) => `${provider} ${callerKind} ${isQualified} ${made}`);
  expect(rows).toEqual(expect.arrayContaining(['tsa-1 internal false 3', 'flat agent true 1', ' agent false 4']));
});

test('S12: hours of months before the last one become days; after an interruption no total changes and the next run goes on', async () => {
  const opened = await openFresh();
  const { counters, db } = opened;
  const rows = collectionOf(db, 'counts');
  const times = ['02-03T04:10', '02-03T05:10', '02-28T23:59', '03-31T23:59', '04-01T00:00', '05-20T12:30'].map(at);
  for (const timeMs of times) await stamp(opened, timeMs);
  await count(opened, [{ ...tally, idMadeAt: at('02-03T05:20'), outcome: 'failed' }]);
  const hours = await rows.find({}).toArray();
  const readAll = async () => [
    await counters.totals(later),
    await counters.daily('2026-02-03', later),
    await counters.daily('2026-02-04', later),
    await counters.productTotal([tally.product]),
  ];
  const figures = await readAll();
  expect(figures).toMatchObject([{ lifetime: { stamps: 6, failed: 1 } }, { length: 5 }, { length: 4 }, 6]);

  const kept = ['2026-02-03', '2026-02-28', '2026-03-31', '2026-04-01T00', '2026-05-20T12'];
  const idsOf = async () => (await rows.find({}).sort({ _id: 1 }).toArray()).map(({ _id }) => _id);
  const fold = async () => {
    await counters.recountEnded(now);
    expect(await idsOf()).toEqual(kept);
    expect(await readAll()).toEqual(figures);
  };
  await fold();
  await fold();
  const ofFebruary = hours.filter(({ _id }) => _id.startsWith('2026-02'));
  // Interrupted before any hour is removed, before the document of one day is written, and before that of any day is.
  for (const missing of [[], ['2026-02-28'], ['2026-02-03', '2026-02-28']]) {
    await rows.deleteMany({ _id: { $in: missing } });
    await rows.insertMany(ofFebruary);
    expect(await readAll()).toEqual(figures);
    await fold();
  }

  // A folded hour is recounted with its day.
  await storeStamps(opened, at('02-03T05:30'), 2);
  await counters.recount(at('02-03T05:00'), at('02-03T06:00'));
  expect(await idsOf()).toEqual(kept);
  expect(await stampsEver(opened)).toBe(8);
  expect((await counters.daily('2026-02-03', later)).at(-1)).toMatchObject({ date: '2026-02-03', stamps: 4, failed: 1 });
});

test('E10: while the store is away, no event is counted and no request fails because of it', async () => {
  const lines: string[] = [];
  const away = connectStore('mongodb://127.0.0.1:1/test', log);
  onTestFinished(away.close);
  const counters = createCounterStore(away.db, {
    batches: { findClaims: async () => new Map() },
    log: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }),
  });
  counters.addStamps([tally]);
  counters.add({ verifications: 1 }, now);
  await counters.close();
  expect(lines).toEqual([]);
  await expect(counters.totals(now)).rejects.toMatchObject({ code: 'store_unavailable' });
});
