import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { evidenceRecordOf } from '../../src/shared/domain/evidence.ts';
import type { TokenProof } from '../../src/shared/domain/stamp.ts';
import { tokenIn } from '../../src/shared/rfc3161/index.ts';
import type { StoredStamp } from '../../src/shared/store/stamps.ts';
import { openStore, type Store } from '../../src/shared/store/store.ts';
import type { StampSubject, TimestampProvider } from '../../src/workers/providers/provider.ts';
import { type RenewalOutcome, renewEvidence } from '../../src/workers/renewal/renew-evidence.ts';
import { createRecordLab, imprintOf } from '../support/record-lab.ts';
import { freshStore } from '../support/servers.ts';
import { DAY_MS, LAB_NOW_MS } from '../support/tsa-lab.ts';

const lab = createRecordLab();
const silent = pino({ level: 'silent' });

/** Stores as several processes have them. */
function openStores(count: number): Store[] {
  const config = freshStore();
  const stores = Array.from({ length: count }, () => openStore(config, silent));
  onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))));
  return stores;
}

const termOf = (days: number, fitDays = days) => ({
  endsAt: new Date(LAB_NOW_MS + days * DAY_MS),
  renewBy: new Date(LAB_NOW_MS + fitDays * DAY_MS),
});

/** `fitDays`: for how long its algorithms are fit. */
function proofOf(digest: Buffer, days: number, timeMs = LAB_NOW_MS, fitDays = days): TokenProof {
  const { asked, answer } = lab.tsa.specimen({ ask: { digest }, timeMs });
  const claims = {
    provider: 'tsa-1',
    isQualified: false,
    issuedAt: new Date(timeMs).toISOString(),
    token: tokenIn(answer)!.toString('base64'),
  };
  return { kind: 'token', ...claims, tsq: Buffer.from(asked.der), tsr: answer, term: termOf(days, fitDays) };
}

function stampOf(days: number, fitDays = days): StoredStamp {
  const digest = randomBytes(32);
  return {
    tokenId: randomUUIDv7(),
    imprint: { algorithm: 'sha256', digest: digest.toString('hex') },
    proofs: [proofOf(digest, days, LAB_NOW_MS, fitDays)],
    tier: 'basic',
    caller: { kind: 'internal', product: 'test' },
    acceptedAt: new Date(LAB_NOW_MS),
    requestId: 'test',
  };
}

/** A TSA whose certificate lasts for so many days, an hour later. */
const providerOf = (days: number, fitDays = days): TimestampProvider => ({
  name: 'tsa-1',
  isQualified: false,
  stamp: async ({ imprint }: StampSubject) => proofOf(Buffer.from(imprint.digest, 'hex'), days, LAB_NOW_MS + 3_600_000, fitDays),
});

async function renew(
  store: Pick<Store, 'stamps' | 'batches' | 'evidenceTerms' | 'renewals'>,
  provider = providerOf(1_000),
  mostLeaves?: number,
): Promise<RenewalOutcome> {
  const done = { renewed: 0, lapsed: 0, asks: 0 };
  const clock = () => LAB_NOW_MS + 3_600_000;
  await renewEvidence(
    { ...store, provider, servesQualified: false, renewBeforeMs: 90 * DAY_MS, ...(mostLeaves && { mostLeaves }), clock, log: silent },
    done,
  );
  return done;
}

/** How many renewals each stamp has; its record is judged with all of them. */
async function renewalsOf(store: Store, stamps: readonly StoredStamp[]): Promise<number[]> {
  const stored = await store.stamps.findMany(stamps.map(({ tokenId }) => tokenId));
  return stored.map((stamp) => {
    const digest = Buffer.from(stamp.imprint.digest, 'hex');
    const verdict = lab.judge(evidenceRecordOf(stamp)!, [imprintOf(digest)], { nowMs: LAB_NOW_MS + 3_600_000 });
    if (!verdict.ok || !verdict.record) throw new Error(`${stamp.tokenId} is refused`);
    return verdict.record.tokens.length - 1;
  });
}

test('S16: a run that ends while it writes is finished by the next one: none is renewed twice, none is left out, no TSA is asked again', async () => {
  const [store] = openStores(1) as [Store];
  const stamps = Array.from({ length: 30 }, () => stampOf(30));
  await store.stamps.insertOnce(stamps);
  const failing: Store['renewals'] = {
    ...store.renewals,
    give: async (renewal, members) => {
      await store.renewals.give(renewal, members.slice(0, 11));
      throw new Error('killed');
    },
  };
  await expect(renew({ ...store, renewals: failing })).rejects.toThrow('killed');
  expect((await renewalsOf(store, stamps)).toSorted()).toEqual([...Array(19).fill(0), ...Array(11).fill(1)]);
  expect(await renew(store)).toEqual({ renewed: 19, lapsed: 0, asks: 0 });
  expect(await renewalsOf(store, stamps)).toEqual(Array(30).fill(1));
  expect(await renew(store)).toEqual({ renewed: 0, lapsed: 0, asks: 0 });
});

test('S16: runs of several processes at once give each stamp one renewal', async () => {
  const stores = openStores(3);
  const stamps = Array.from({ length: 40 }, () => stampOf(30));
  await stores[0]!.stamps.insertOnce(stamps);
  const done = await Promise.all(stores.map((store) => renew(store)));
  expect(done.reduce((sum, { renewed }) => sum + renewed, 0)).toBe(40);
  expect(await renewalsOf(stores[0]!, stamps)).toEqual(Array(40).fill(1));
});

test('S16: what is not due is left alone, and what the new token does not outlive too', async () => {
  const [store] = openStores(1) as [Store];
  const [due, dueLater, notDue] = [stampOf(20), stampOf(60), stampOf(91)];
  await store.stamps.insertOnce([due, dueLater, notDue]);
  expect(await renew(store, providerOf(40))).toEqual({ renewed: 1, lapsed: 0, asks: 1 });
  expect(await renewalsOf(store, [due])).toEqual([1]);
  expect(await renewalsOf(store, [dueLater, notDue])).toEqual([0, 0]);
  expect(await store.evidenceTerms.noteRun(new Date(), new Date(LAB_NOW_MS + 90 * DAY_MS))).toMatchObject({ due: 2, lapsed: 0 });
});

test('S16: more stamps than one tree holds take few requests, and each keeps its own way', async () => {
  const [store] = openStores(1) as [Store];
  const stamps = Array.from({ length: 70 }, () => stampOf(30));
  await store.stamps.insertOnce(stamps);
  expect(await renew(store, providerOf(1_000), 32)).toEqual({ renewed: 70, lapsed: 0, asks: 3 });
  expect(await renewalsOf(store, stamps)).toEqual(Array(70).fill(1));
  expect(await store.evidenceTerms.findDue('stamp', new Date(LAB_NOW_MS + 90 * DAY_MS), 10)).toEqual([]);
});

test('S16: where every key of the TSA is unfit, certificates that last longer are taken once the own ones are about to end', async () => {
  const [store] = openStores(1) as [Store];
  const [ends, lasts] = [stampOf(20, -10), stampOf(200, -10)];
  await store.stamps.insertOnce([ends, lasts]);
  expect(await renew(store, providerOf(1_000, -10))).toEqual({ renewed: 1, lapsed: 0, asks: 1 });
  expect(await renewalsOf(store, [ends])).toEqual([1]);
  expect(await renewalsOf(store, [lasts])).toEqual([0]);
  expect(await renew(store, providerOf(1_000, -10))).toEqual({ renewed: 0, lapsed: 0, asks: 1 });
  // Both are due by their algorithms: a TSA with a fit key renews them.
  expect(await renew(store, providerOf(1_000))).toEqual({ renewed: 2, lapsed: 0, asks: 1 });
});

test('S16: after a token that renews nobody, none is bought in this run that would be of no use either', async () => {
  const [store] = openStores(1) as [Store];
  const stamps = Array.from({ length: 70 }, () => stampOf(60));
  await store.stamps.insertOnce(stamps);
  expect(await renew(store, providerOf(40), 16)).toEqual({ renewed: 0, lapsed: 0, asks: 1 });
  expect(await renew(store, providerOf(1_000), 16)).toEqual({ renewed: 70, lapsed: 0, asks: 5 });
});

test('S16: evidence that was renewed since it was read does not lapse', async () => {
  const [store] = openStores(1) as [Store];
  const [renewed, ended] = [stampOf(30), stampOf(-1)];
  await store.stamps.insertOnce([renewed, ended]);
  expect(await renew(store)).toMatchObject({ renewed: 1, lapsed: 1 });
  const until = new Date(LAB_NOW_MS + 2_000 * DAY_MS);
  const asRead = { id: renewed.tokenId, term: termOf(30), renewals: 0 };
  expect(await store.evidenceTerms.lapse('stamp', [asRead], new Date())).toBe(0);
  expect(await store.evidenceTerms.lapse('stamp', [{ ...asRead, renewals: 1 }], new Date())).toBe(0);
  expect(await store.evidenceTerms.findDue('stamp', until, 10)).toEqual([renewed.tokenId]);
  expect(await store.evidenceTerms.lapse('stamp', [{ ...asRead, term: termOf(1_000), renewals: 1 }], new Date())).toBe(1);
  expect(await store.evidenceTerms.findDue('stamp', until, 10)).toEqual([]);
});
