import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { sha256Imprint } from '../../../src/shared/domain/stamp.ts';
import { firstIdAt } from '../../../src/shared/domain/stamp-id.ts';
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

const stampsEver = async ({ counters }: Opened) => (await counters.totals(now)).lifetime.stamps;

test('S12: stamps count in the hour of their id, by product, provider, qualification and caller; several processes count at once', async () => {
  const opened = await openFresh();
  const { counters } = opened;
  const qualified = { ...tally, isQualified: true, provider: 'other' };
  await Promise.all([
    ...Array.from({ length: 3 }, () => count(opened, [tally, { ...tally, latencyMs: 1_000 }])),
    count(opened, [qualified, { ...qualified, callerKind: 'tsa', product: undefined }]),
    count(opened, [{ ...tally, outcome: 'failed' }]),
    // The last 24 hours are this one and the 23 before it.
    count(opened, [{ ...tally, idMadeAt: at('05-19T13:00') }]),
    count(opened, [{ ...tally, idMadeAt: at('05-19T12:59'), product: 'a' }]),
    count(opened, [{ ...tally, idMadeAt: at('01-01T00:00'), product: undefined }]),
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
  const today = [
    of('2026-05-20', qualified, 1, 0, 10, 10),
    of('2026-05-20', tally, 6, 1, 10, 1_010),
    of('2026-05-20', { ...qualified, callerKind: 'tsa' }, 1, 0, 10, 10),
  ];
  const [before, first] = [of('2026-05-19', tally, 2, 0, 10, 10), of('2026-01-01', tally, 1, 0, 10, 10)];
  expect(await counters.daily(1, now)).toEqual(today);
  expect(await counters.daily(2, now)).toEqual([...today, before]);
  expect(await counters.daily(365, now)).toEqual([...today, before, first]);
  expect(await counters.productTotal([tally.product])).toBe(8);
  expect(await counters.productTotal([tally.product, 'a', 'nobody', '_id'])).toBe(9);
  const { last24h, lifetime } = await counters.totals(now);
  expect([last24h.stamps, last24h.failed, lifetime.stamps, lifetime.failed]).toEqual([9, 1, 11, 1]);
});

test('S12: other events are counted too; all counts are written within a moment, and when the process stops', async () => {
  const { counters } = await openFresh();
  const none = { stamps: 0, failed: 0, verifications: 0, workflowsStarted: 0, workflowsCompleted: 0, renewed: 0 };
  expect(await counters.totals(now)).toEqual({ last24h: none, lifetime: none });
  counters.add({ verifications: 2, workflowsStarted: 1 }, now);
  counters.add({ verifications: 1, renewed: 3 }, now - 48 * 3_600_000);
  await eventually(async () => (await counters.totals(now)).lifetime.verifications === 3);
  counters.add({ workflowsCompleted: 1 }, now);
  await counters.close();
  const { last24h, lifetime } = await counters.totals(now);
  expect(last24h).toEqual({ ...none, verifications: 2, workflowsStarted: 1, workflowsCompleted: 1 });
  expect(lifetime).toEqual({ ...last24h, verifications: 3, renewed: 3 });
});

test('S12: an hour that ended 15 minutes ago is recounted once from the stored stamps, and again if a late process counts in it', async () => {
  const opened = await openFresh();
  const { counters, db } = opened;
  // One hour is missing after a killed process, and another was counted twice.
  await storeStamps(opened, at('05-20T10:59:59.999'), 2);
  await count(opened, [{ ...tally, idMadeAt: at('05-20T10:10'), outcome: 'failed', provider: 'away' }]);
  await storeStamps(opened, at('05-20T11:00'), 1);
  const counted = { ...tally, idMadeAt: at('05-20T11:00') };
  await count(opened, [counted, counted, { ...counted, provider: 'nobody', product: 'never stored' }]);
  counters.add({ verifications: 7 }, at('05-20T11:20'));
  await counters.close();
  expect(await stampsEver(opened)).toBe(3);

  await counters.recountEnded(at('05-20T12:14:59.999'));
  expect(await stampsEver(opened)).toBe(5);
  await counters.recountEnded(at('05-20T12:15'));
  expect(await stampsEver(opened)).toBe(3);
  expect(await counters.productTotal([tally.product, 'never stored'])).toBe(3);
  expect((await counters.totals(now)).lifetime).toMatchObject({ failed: 1, verifications: 7 });
  expect(await counters.daily(1, now)).toMatchObject([
    { provider: 'away', stamps: 0, failed: 1, latencyMs: { p50: null, p95: null } },
    { provider: tally.provider, stamps: 3, failed: 0, latencyMs: { p50: 10, p95: 10 } },
  ]);

  await storeStamps(opened, at('05-20T11:30'), 1);
  await counters.recountEnded(at('05-20T13:20'));
  expect(await stampsEver(opened)).toBe(3);
  // By command it can be recounted any number of times; here one hour of two.
  expect(await counters.recount(at('05-20T11:00'), at('05-20T12:00'))).toBe(1);
  expect([await stampsEver(opened), await collectionOf(db, 'counts').findOne({ _id: '2026-05-20T12' })]).toEqual([4, null]);

  await count(opened, [counted]);
  expect(await stampsEver(opened)).toBe(5);
  await counters.recountEnded(at('05-20T13:20'));
  expect(await stampsEver(opened)).toBe(4);
});

test('S12: an hour that was recounted by command before it ended is recounted when it has ended', async () => {
  const opened = await openFresh();
  await storeStamps(opened, now - 60_000, 1);
  await opened.counters.recount(now, now + 1);
  await storeStamps(opened, now + 60_000, 1);
  expect(await stampsEver(opened)).toBe(1);
  await opened.counters.recountEnded(at('05-20T13:15'));
  expect(await stampsEver(opened)).toBe(2);
});

test('S12, V1: the recount includes leaves of batches, damaged documents and more stamps than one query counts', async () => {
  const opened = await openFresh();
  const { store, counters, db } = opened;
  const { batch, stamps, leaves } = makeBatchedStamps(createTsaLab(), 3);
  await store.batches.insertOnce(batch, leaves);
  await store.stamps.insertOnce(stamps.map((leaf) => ({ ...leaf, tokenId: idAt(now) })));
  const caller = { kind: 'agent', product: 'p' };
  await collectionOf(db, 'stamps').insertMany(
    [
      ...Array.from({ length: 10_000 }, () => ({ caller, proofs: [{ kind: 'mock', provider: 'mock', isQualified: true }] })),
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
  expect([await stampsEver(opened), await counters.productTotal(['test', 'p'])]).toEqual([10_010, 10_007]);
  const days = await counters.daily(1, now);
  expect(days.reduce((sum, { stamps: ofSeries }) => sum + ofSeries, 0)).toBe(10_010);
  const rows = days.map(({ provider, callerKind, isQualified, stamps: made }) => `${provider} ${callerKind} ${isQualified} ${made}`);
  expect(rows).toEqual(expect.arrayContaining(['tsa-1 internal false 3', 'mock agent true 10000', ' agent false 4']));
});

test('E10: while the store is away, no event is counted and no request fails because of it', async () => {
  const lines: string[] = [];
  const loud = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const { counters, close } = openStore({ ...freshStore(), MONGODB_URL: 'mongodb://127.0.0.1:1/test' }, loud);
  onTestFinished(close);
  counters.addStamps([tally]);
  counters.add({ verifications: 1 }, now);
  await counters.close();
  expect(lines.filter((line) => line.includes('counters'))).toEqual([]);
  await expect(counters.totals(now)).rejects.toMatchObject({ code: 'store_unavailable' });
});
