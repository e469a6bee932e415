import { randomBytes, randomUUIDv7 } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { evidenceRecordOf, newImprintsOf } from '../../../src/shared/domain/evidence.ts';
import type { Imprint, TokenProof } from '../../../src/shared/domain/stamp.ts';
import { tokenIn } from '../../../src/shared/rfc3161/index.ts';
import type { StoredStamp } from '../../../src/shared/store/stamps.ts';
import { openStore, type Store } from '../../../src/shared/store/store.ts';
import { ProviderError, type StampSubject, type TimestampProvider } from '../../../src/workers/providers/provider.ts';
import { type RenewalOptions, type RenewalOutcome, renewEvidence } from '../../../src/workers/renewal/renew-evidence.ts';
import { createRecordLab, hash, imprintOf } from '../../support/record-lab.ts';
import { freshStore } from '../../support/servers.ts';
import { DAY_MS, LAB_NOW_MS } from '../../support/tsa-lab.ts';
import { workerTools } from '../../support/worker-tools.ts';

const lab = createRecordLab();
const silent = pino({ level: 'silent' });

/** One store for each of several processes. */
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

/** `fitDays`: how long its algorithms stay fit. */
function proofOf(digest: Buffer, days: number, timeMs = LAB_NOW_MS, fitDays = days): TokenProof {
  const algorithm = digest.length === 64 ? 'sha512' : 'sha256';
  const { asked, answer } = lab.tsa.specimen({ ask: { digest, hash: algorithm }, timeMs });
  const claims = { provider: 'tsa-1', isQualified: false, issuedAt: new Date(timeMs).toISOString() };
  return {
    kind: 'token',
    ...claims,
    token: tokenIn(answer)!.toString('base64'),
    tsq: Buffer.from(asked.der),
    tsr: answer,
    term: termOf(days, fitDays),
  };
}

function stampOf(days: number, fitDays = days, digest: Buffer = randomBytes(32)): StoredStamp {
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

/** A stamp of a content, and its SHA-512 as the service computed it. */
function broughtStamp(days: number): { stamp: StoredStamp; newImprint: Imprint } {
  const content = randomBytes(20);
  const stamp = stampOf(days, days, hash('sha256', content));
  return { stamp, newImprint: { algorithm: 'sha512', digest: hash('sha512', content).toString('hex') } };
}

/** A new store with these stamps; new hashes of those with content wait in it. */
async function storeWith(given: readonly (StoredStamp | ReturnType<typeof broughtStamp>)[], [store] = openStores(1) as [Store]) {
  await store.stamps.insertOnce(given.map((one) => ('stamp' in one ? one.stamp : one)));
  for (const one of given) if ('stamp' in one) await store.newDigests.insertOnce({ tokenId: one.stamp.tokenId, imprint: one.newImprint });
  return store;
}

/** A TSA whose certificate lasts this many days, an hour later. */
const providerOf = (days: number, fitDays = days): TimestampProvider => ({
  name: 'tsa-1',
  isQualified: false,
  checkQualified: async () => undefined,
  stamp: async ({ imprint }: StampSubject) => proofOf(Buffer.from(imprint.digest, 'hex'), days, LAB_NOW_MS + 3_600_000, fitDays),
});

interface RunOptions extends RenewalOptions {
  readonly clock?: () => number;
  readonly renewBeforeDays?: number;
}

async function renew(
  store: Store,
  provider = providerOf(1_000),
  { clock = () => LAB_NOW_MS + 3_600_000, renewBeforeDays = 90, isByCommand = true, mostLeaves }: RunOptions = {},
): Promise<RenewalOutcome> {
  const done = { renewed: 0, lapsed: 0, asks: 0 };
  const tools = workerTools({ store, provider, clock });
  const config = { ...tools.config, RENEW_BEFORE_DAYS: renewBeforeDays };
  await renewEvidence({ ...tools, config }, done, { isByCommand, ...(mostLeaves && { mostLeaves }) });
  return done;
}

/** A store whose process is killed when it has written this many renewals. */
const dyingAfter = (store: Store, count: number): Store => ({
  ...store,
  renewals: {
    ...store.renewals,
    give: async (renewal, members) => {
      await store.renewals.give(renewal, members.slice(0, count));
      throw new Error('killed');
    },
  },
});

/** How many renewals each stamp has; its record is judged with all of them. */
async function renewalsOf(store: Store, given: readonly (StoredStamp | ReturnType<typeof broughtStamp>)[]): Promise<number[]> {
  const stamps = given.map((one) => ('stamp' in one ? one.stamp : one));
  const found = new Map((await store.stamps.findMany(stamps.map(({ tokenId }) => tokenId))).map((stamp) => [stamp.tokenId, stamp]));
  return Array.fromAsync(stamps, async ({ tokenId }) => {
    const stamp = found.get(tokenId)!;
    const digest = Buffer.from(stamp.imprint.digest, 'hex');
    const others = newImprintsOf(stamp.proofs[0]).map(({ algorithm, digest }) => imprintOf(Buffer.from(digest, 'hex'), algorithm));
    const verdict = await lab.judge(evidenceRecordOf(stamp)!, [imprintOf(digest), ...others], { nowMs: LAB_NOW_MS + 3_600_000 });
    if (!verdict.ok || !verdict.record) throw new Error(`${stamp.tokenId} is refused`);
    return verdict.record.tokens.length - 1;
  });
}

test('S16: the next run finishes a run that ended while writing: no stamp renewed twice or left out, and no new TSA request', async () => {
  const stamps = Array.from({ length: 30 }, () => stampOf(30));
  const store = await storeWith(stamps);
  await expect(renew(dyingAfter(store, 11))).rejects.toThrow('killed');
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

test('S16: a stamp is not renewed if it is not due, or if the new token ends no later', async () => {
  const [due, dueLater, notDue] = [stampOf(20), stampOf(60), stampOf(91)];
  const store = await storeWith([due, dueLater, notDue]);
  expect(await renew(store, providerOf(40))).toEqual({ renewed: 1, lapsed: 0, asks: 1 });
  expect(await renewalsOf(store, [due])).toEqual([1]);
  expect(await renewalsOf(store, [dueLater, notDue])).toEqual([0, 0]);
  expect(await store.evidenceTerms.noteRun(new Date(), new Date(LAB_NOW_MS + 90 * DAY_MS))).toMatchObject({ due: 2, lapsed: 0 });
});

test('S16: if every key of the TSA is unfit, longer certificates are accepted once the old ones are about to end', async () => {
  const [ends, lasts] = [stampOf(20, -10), stampOf(200, -10)];
  const store = await storeWith([ends, lasts]);
  expect(await renew(store, providerOf(1_000, -10))).toEqual({ renewed: 1, lapsed: 0, asks: 1 });
  expect(await renewalsOf(store, [ends])).toEqual([1]);
  expect(await renewalsOf(store, [lasts])).toEqual([0]);
  expect(await renew(store, providerOf(1_000, -10))).toEqual({ renewed: 0, lapsed: 0, asks: 1 });
  // Both are due by their algorithms: a TSA with a fit key renews them.
  expect(await renew(store, providerOf(1_000))).toEqual({ renewed: 2, lapsed: 0, asks: 1 });
});

test('S16: after a token that renews no stamp, the run buys no other; if the stamps do not fit in one tree, few requests suffice', async () => {
  const stamps = Array.from({ length: 70 }, () => stampOf(60));
  const store = await storeWith(stamps);
  expect(await renew(store, providerOf(40), { mostLeaves: 16 })).toEqual({ renewed: 0, lapsed: 0, asks: 1 });
  expect(await renew(store, providerOf(1_000), { mostLeaves: 16 })).toEqual({ renewed: 70, lapsed: 0, asks: 5 });
  expect(await renewalsOf(store, stamps)).toEqual(Array(70).fill(1));
  expect(await store.evidenceTerms.findDue('stamp', new Date(LAB_NOW_MS + 90 * DAY_MS), 10)).toEqual([]);
});

test('S16: evidence does not lapse if it was renewed after it was read', async () => {
  const [renewed, ended] = [stampOf(30), stampOf(-1)];
  const store = await storeWith([renewed, ended]);
  expect(await renew(store)).toMatchObject({ renewed: 1, lapsed: 1 });
  const until = new Date(LAB_NOW_MS + 2_000 * DAY_MS);
  const asRead = { id: renewed.tokenId, term: termOf(30), renewals: 0 };
  expect(await store.evidenceTerms.lapse('stamp', [asRead], new Date())).toBe(0);
  expect(await store.evidenceTerms.lapse('stamp', [{ ...asRead, renewals: 1 }], new Date())).toBe(0);
  expect(await store.evidenceTerms.findDue('stamp', until, 10)).toMatchObject([{ id: renewed.tokenId }]);
  expect(await store.evidenceTerms.lapse('stamp', [{ ...asRead, term: termOf(1_000), renewals: 1 }], new Date())).toBe(1);
  expect(await store.evidenceTerms.findDue('stamp', until, 10)).toEqual([]);
});

test('S16: evidence that ends first is renewed first', async () => {
  const stamps = [60, 10, 40, 50, 20, 30].map((days) => stampOf(days));
  const store = await storeWith(stamps);
  let asks = 0;
  const provider: TimestampProvider = {
    ...providerOf(1_000),
    stamp: async (subject) => {
      if (++asks > 1) throw new ProviderError('the TSA is away');
      return providerOf(1_000).stamp(subject);
    },
  };
  await expect(renew(store, provider, { mostLeaves: 3 })).rejects.toThrow('the TSA is away');
  expect(await renewalsOf(store, stamps)).toEqual([0, 1, 0, 0, 1, 1]);
});

test('S16: while a TSA has no better key, a token is bought once a week, not each day; a command buys one at once', async () => {
  const store = await storeWith([stampOf(1_000, 60)]);
  const sameKey = providerOf(1_000, 60);
  const onDay = (day: number, provider = sameKey, options: RunOptions = {}) =>
    renew(store, provider, { isByCommand: false, clock: () => LAB_NOW_MS + 3_600_000 + day * DAY_MS, ...options });
  const asks = [];
  for (let day = 0; day < 22; day += 1) asks.push((await onDay(day)).asks);
  expect(asks.map((count, day) => (count > 0 ? day : undefined)).filter((day) => day !== undefined)).toEqual([0, 7, 14, 21]);
  expect(await onDay(21, sameKey, { isByCommand: true })).toMatchObject({ asks: 1, renewed: 0 });
  expect(await onDay(28, providerOf(1_000))).toMatchObject({ asks: 1, renewed: 1 });
});

test('S16: in the last weeks before its certificates end, a token is asked for each day', async () => {
  const store = await storeWith([stampOf(12)]);
  const onDay = (day: number) => renew(store, providerOf(12), { isByCommand: false, clock: () => LAB_NOW_MS + 3_600_000 + day * DAY_MS });
  const asks = [];
  for (let day = 0; day < 11; day += 1) asks.push((await onDay(day)).asks);
  expect(asks.slice(-9)).toEqual(Array(9).fill(1));
});

test('S17: the next run finishes a run that ended while covering new hashes; concurrent runs cover each hash once', async () => {
  const [store, another] = openStores(2) as [Store, Store];
  const brought = Array.from({ length: 20 }, () => broughtStamp(1_000));
  await storeWith(brought, [store]);
  await expect(renew(dyingAfter(store, 7))).rejects.toThrow('killed');
  const done = await Promise.all([renew(store), renew(another)]);
  expect(done.reduce((sum, { renewed }) => sum + renewed, 0)).toBe(13);
  expect(await renewalsOf(store, brought)).toEqual(Array(20).fill(1));
  expect(await renew(store)).toEqual({ renewed: 0, lapsed: 0, asks: 0 });
  expect(await store.newDigests.list('', 100)).toEqual([]);
});

test('S17: a hash that arrives after the evidence ended is dropped; if its stamp was renewed meanwhile, it waits for the next run', async () => {
  const [ended, raced] = [broughtStamp(-1), broughtStamp(200)];
  const store = await storeWith([ended, raced]);
  const slow = providerOf(1_000);
  const provider: TimestampProvider = {
    ...slow,
    stamp: async (subject) => {
      const another = { ...store, newDigests: { ...store.newDigests, list: async () => [] } };
      if (subject.imprint.algorithm === 'sha512') await renew(another, slow, { renewBeforeDays: 300 });
      return slow.stamp(subject);
    },
  };
  expect(await renew(store, provider)).toMatchObject({ renewed: 0, asks: 1 });
  expect(await store.newDigests.list('', 100)).toEqual([{ tokenId: raced.stamp.tokenId, imprint: raced.newImprint }]);
  expect(await renew(store)).toMatchObject({ renewed: 1, asks: 1 });
  expect(await renewalsOf(store, [raced])).toEqual([2]);
});

/** A TSA that refuses imprints of this algorithm. */
const providerWithout = (algorithm: Imprint['algorithm'], days = 1_000): TimestampProvider => ({
  ...providerOf(days),
  stamp: async (subject) => {
    if (subject.imprint.algorithm === algorithm) throw new ProviderError(`no TSA takes ${algorithm}`);
    return providerOf(days).stamp(subject);
  },
});

test('S16: if no TSA accepts one algorithm, stamps of another are renewed, each TSA is asked once, and the run fails', async () => {
  const brought = [broughtStamp(1_000), broughtStamp(1_000), broughtStamp(1_000)];
  const due = stampOf(30);
  const store = await storeWith([due, ...brought]);
  await expect(renew(store, providerWithout('sha512'), { mostLeaves: 1 })).rejects.toThrow('no TSA takes sha512');
  expect(await renewalsOf(store, [due, ...brought])).toEqual([1, 0, 0, 0]);

  expect(await renew(store)).toMatchObject({ renewed: 3, asks: 1 });
  const dueToo = stampOf(50);
  await store.stamps.insertOnce([dueToo]);
  const allDue = { renewBeforeDays: 1_100 };
  await expect(renew(store, providerWithout('sha256', 2_000), allDue)).rejects.toThrow('no TSA takes sha256');
  expect(await renewalsOf(store, [dueToo, due, ...brought])).toEqual([0, 1, 2, 2, 2]);
});

test('S17: a new hash waits if the tokens of the TSA end before the evidence; they are not bought each day', async () => {
  const [long, short] = [broughtStamp(1_000), broughtStamp(200)];
  const store = await storeWith([long, short]);
  const daily = { isByCommand: false };
  expect(await renew(store, providerOf(300), daily)).toEqual({ renewed: 1, lapsed: 0, asks: 1 });
  expect(await renew(store, providerOf(300), daily)).toEqual({ renewed: 0, lapsed: 0, asks: 1 });
  expect(await renew(store, providerOf(300), daily)).toEqual({ renewed: 0, lapsed: 0, asks: 0 });
  expect(await renewalsOf(store, [long, short])).toEqual([0, 1]);
  expect(await store.newDigests.list('', 100)).toEqual([{ tokenId: long.stamp.tokenId, imprint: long.newImprint }]);
  const [ends] = await store.evidenceTerms.findDue('stamp', new Date(LAB_NOW_MS + 2_000 * DAY_MS), 10);
  expect(ends).toMatchObject({ id: short.stamp.tokenId, endsAt: termOf(300).endsAt });
  expect(await renew(store, providerOf(1_000))).toMatchObject({ renewed: 1, asks: 1 });
});
