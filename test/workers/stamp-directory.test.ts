import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { sha256Imprint } from '../../src/shared/domain/stamp.ts';
import { firstIdAt } from '../../src/shared/domain/stamp-id.ts';
import type { StoredStamp } from '../../src/shared/store/stamps.ts';
import { openStore, type Store } from '../../src/shared/store/store.ts';
import { freshStore } from '../support/servers.ts';

const minuteMs = 60_000;

/** A stamp that was accepted `agoMs` ago. */
function stampOf(product: string, agoMs: number): StoredStamp {
  const acceptedAt = new Date(Date.now() - agoMs);
  const random = randomBytes(9).toString('hex');
  return {
    tokenId: `${firstIdAt(acceptedAt.getTime())}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6)}`,
    imprint: sha256Imprint('a'.repeat(64)),
    proofs: [{ kind: 'mock', token: 'token', provider: 'mock', isQualified: false, issuedAt: acceptedAt.toISOString() }],
    tier: 'basic',
    caller: { kind: 'internal', product },
    acceptedAt,
    requestId: 'test',
  };
}

const some = (count: number, product: string, agoMs: (index: number) => number): StoredStamp[] =>
  Array.from({ length: count }, (_, index) => stampOf(product, agoMs(index)));

/** A stamp of a client of the RFC 3161 door, as it may be. */
const ofOtherImprint = (stamp: StoredStamp): StoredStamp => ({ ...stamp, imprint: { algorithm: 'sha512', digest: 'b'.repeat(128) } });

function openPlainStore(): Store {
  const store = openStore(freshStore(), pino({ level: 'silent' }));
  onTestFinished(() => store.close());
  return store;
}

async function openIndexedStore(): Promise<Store> {
  const store = openPlainStore();
  await store.ensureIndexes();
  return store;
}

/** Around blocks and marks, and beyond the end. */
const allPages = [
  ...[0, 1, 249, 250, 251, 448, 449, 777, 1_249, 1_250, 1_600, 100_000].map((offset) => ({ offset, limit: 51 })),
  ...[0, 240, 1_100].map((offset) => ({ offset, limit: 501 })),
];

/** Every page is as if all stamps of the product were sorted and cut. */
async function expectPagesOf(
  { stamps }: Store,
  product: string,
  written: readonly StoredStamp[],
  pages = allPages,
  imprints: 'sha256' | 'all' = 'sha256',
): Promise<void> {
  const ids = written.flatMap(({ tokenId, caller }) => (caller.product === product ? [tokenId] : []));
  const newestFirst = ids.sort().reverse();
  for (const { offset, limit } of pages) {
    const page = await stamps.listByProduct(product, { limit, offset, imprints });
    const listed = page.map(({ tokenId }) => tokenId);
    expect(listed, `${product}, offset ${offset}, limit ${limit}`).toEqual(newestFirst.slice(offset, offset + limit));
  }
}

test('S12: pages by marks are the pages of all stamps in order, with marks, without, and with late stamps', async () => {
  const store = await openIndexedStore();
  const { stamps, stampDirectory } = store;
  const written: StoredStamp[] = [];
  const write = async (given: readonly StoredStamp[]) => {
    await stamps.insertOnce(given);
    written.push(...given);
  };
  const tell = (given: readonly StoredStamp[]) =>
    stampDirectory.wrote(
      'often',
      given.map(({ tokenId }) => tokenId),
    );
  const numberOfMarks = async () => (await stampDirectory.marks('often')).length;

  // Some by the minute, 700 within a second long ago, and some that have not settled yet.
  await write(some(600, 'often', (index) => (index + 2) * minuteMs));
  await write(some(700, 'often', (index) => 5_000 * minuteMs + index));
  await write(some(300, 'often', (index) => index * 50));
  await write(some(12, 'rare', (index) => index * 90 * minuteMs));
  await expectPagesOf(store, 'often', written);
  await stampDirectory.extend('often');
  await stampDirectory.begin('rare');
  expect(await numberOfMarks()).toBe(6);
  await expectPagesOf(store, 'often', written);
  await expectPagesOf(store, 'rare', written);
  await expectPagesOf(store, 'nobody', written);

  const late = some(40, 'often', (index) => (300 + index / 7) * minuteMs);
  await write(late);
  await tell(late);
  expect(await numberOfMarks()).toBeLessThan(6);
  await expectPagesOf(store, 'often', written);
  await stampDirectory.extend('often');
  expect(await numberOfMarks()).toBe(6);
  await expectPagesOf(store, 'often', written);
});

test('S12: marks that are made while a late stamp is written are right, or are not kept', async () => {
  const store = await openIndexedStore();
  const { stamps, stampDirectory } = store;
  const written = some(1_300, 'often', (index) => (index + 1) * minuteMs);
  await stamps.insertOnce(written);
  const tell = ({ tokenId }: StoredStamp) => stampDirectory.wrote('often', [tokenId]);
  for (let round = 0; round < 12; round += 1) {
    const late = stampOf('often', 52.5 * minuteMs);
    const write = async () => {
      // Reads, so that the stamp is written a little later in each round.
      for (let read = 0; read < round; read += 1) await stampDirectory.marks('often');
      await stamps.insertOnce([late]);
      await tell(late);
    };
    await tell(written[1_299]!);
    await Promise.all([stampDirectory.extend('often'), write()]);
    written.push(late);
    await expectPagesOf(store, 'often', written, [{ offset: 1_240, limit: 51 }]);
  }
});

test('S12: a store without the index of products, and without marks, lists the same', async () => {
  const store = openPlainStore();
  const written = [...some(900, 'often', (index) => (index + 2) * minuteMs), ...some(5, 'rare', (index) => index * minuteMs)];
  await store.stamps.insertOnce(written);
  const other = ofOtherImprint(stampOf('often', minuteMs));
  await store.stamps.insertOnce([other]);
  await store.stampDirectory.begin('often');
  await expectPagesOf(store, 'often', written);
  await expectPagesOf(store, 'rare', written);
  await expectPagesOf(store, 'often', [...written, other], allPages, 'all');
});

test('S12: stamps of other imprints are listed with all, and nowhere else', async () => {
  const store = await openIndexedStore();
  const sha256 = some(900, 'often', (index) => (index + 2) * minuteMs);
  const others = some(700, 'often', (index) => (index / 3) * minuteMs).map(ofOtherImprint);
  await store.stamps.insertOnce([...sha256, ...others, ...some(5, 'rare', () => 0)]);
  await store.stampDirectory.extend('often');
  await expectPagesOf(store, 'often', sha256);
  await expectPagesOf(store, 'often', [...sha256, ...others], allPages, 'all');
  expect((await store.stamps.find(others[0]!.tokenId))?.caller).toEqual({ kind: 'internal', product: 'often' });
});
