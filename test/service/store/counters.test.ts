import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { firstIdAt } from '../../../src/shared/domain/stamp.ts';
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
  const { MONGODB_URL, MASTER_KEY } = freshStore();
  const stores = openStore({ MONGODB_URL, MASTER_KEY }, log);
  onTestFinished(stores.close);
  return { stores, counters: stores.counters, db: await openDatabase({ settings: { MONGODB_URL } }) };
}

/** Counts like a process that then ends and writes the rest. */
async function count({ stores, db }: Opened, tallies: readonly StampTally[]): Promise<void> {
  const counters = createCounterStore(db, { batches: stores.batches, log });
  counters.addStamps(tallies);
  await counters.close();
}

function idAt(timeMs: number): string {
  const random = randomBytes(9).toString('hex');
  return `${firstIdAt(timeMs)}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6)}`;
}

/** The counted fields of a stamp. */
const counted = {
  caller: { kind: tally.callerKind, product: tally.product },
  proofs: [{ kind: 'mock', provider: tally.provider, isQualified: false }],
};

/** Stores stamps whose ids have this time, without counting them. */
const store = ({ db }: Opened, timeMs: number, stamps: readonly object[] = [counted]) =>
  collectionOf(db, 'stamps').insertMany(stamps.map((stamp) => ({ _id: idAt(timeMs), ...stamp })));

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
  const of = ({ provider, isQualified, callerKind }: StampTally, date: string, stamps: number) => ({
    ...{ provider, isQualified, callerKind, date, stamps, failed: 0 },
    latencyMs: { p50: 10, p95: 10 },
  });
  const today = [
    of(qualified, '2026-05-20', 1),
    { ...of(tally, '2026-05-20', 6), failed: 1, latencyMs: { p50: 10, p95: 1_010 } },
    of({ ...qualified, callerKind: 'tsa' }, '2026-05-20', 1),
  ];
  const [before, first] = [of(tally, '2026-05-19', 2), of(tally, '2026-01-01', 1)];
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
  const { counters } = opened;
  // One hour is missing after a killed process, and another was counted twice.
  await store(opened, at('05-20T10:59:59.999'), [counted, counted]);
  await count(opened, [{ ...tally, idMadeAt: at('05-20T10:10'), outcome: 'failed', provider: 'away' }]);
  await store(opened, at('05-20T11:00'));
  const ofEleven = { ...tally, idMadeAt: at('05-20T11:00') };
  await count(opened, [ofEleven, ofEleven, { ...ofEleven, provider: 'nobody', product: 'never stored' }]);
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

  await store(opened, at('05-20T11:30'));
  await counters.recountEnded(at('05-20T12:20'));
  expect(await stampsEver(opened)).toBe(3);
  await count(opened, [ofEleven]);
  expect(await stampsEver(opened)).toBe(4);
  await counters.recountEnded(at('05-20T12:20'));
  expect(await stampsEver(opened)).toBe(4);
});

test('S12: by command, hours are recounted any number of times, also before they end', async () => {
  const opened = await openFresh();
  const { counters, db } = opened;
  await store(opened, at('05-20T11:30'));
  await counters.recountEnded(at('05-20T12:15'));
  await store(opened, at('05-20T11:30'));
  expect(await counters.recount(at('05-20T10:00'), at('05-20T12:00'))).toBe(2);
  expect(await stampsEver(opened)).toBe(2);
  expect(await collectionOf(db, 'counts').countDocuments()).toBe(1);

  await store(opened, at('05-20T12:29'));
  await counters.recount(now, now + 1);
  await store(opened, at('05-20T12:31'));
  expect(await stampsEver(opened)).toBe(3);
  await counters.recountEnded(at('05-20T13:15'));
  expect(await stampsEver(opened)).toBe(4);
});

test('S12, V1: the recount includes leaves of batches, damaged documents and more stamps than one query counts', async () => {
  const opened = await openFresh();
  const { stores, counters } = opened;
  const { batch, stamps, leaves } = makeBatchedStamps(createTsaLab(), 3);
  await stores.batches.insertOnce(batch, leaves);
  await stores.stamps.insertOnce(stamps.map((leaf) => ({ ...leaf, tokenId: idAt(now) })));
  const caller = { kind: 'agent', product: 'p' };
  const proof = { kind: 'mock', provider: 'mock', isQualified: true };
  await store(opened, now, [
    ...Array.from({ length: 10_000 }, () => ({ caller, proofs: [proof] })),
    ...['gone', [null], [{ kind: 'leaf', batch: 'no id' }], [{ kind: 'leaf', batch: 7 }]].map((proofs) => ({ caller, proofs })),
    { caller: null, proofs: [] },
    { caller: { kind: 7, product: 7 }, proofs: [{ ...proof, provider: 7, isQualified: 'yes' }] },
    { caller: { kind: 'a.$b', product: '' }, proofs: [proof] },
  ]);
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
