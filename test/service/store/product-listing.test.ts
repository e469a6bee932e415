import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { firstIdAt, type Imprint, sha256Imprint } from '../../../src/shared/domain/stamp.ts';
import type { StoredStamp } from '../../../src/shared/store/stamps.ts';
import { openStore } from '../../../src/shared/store/store.ts';
import { freshStore } from '../../support/servers.ts';

/** A stamp accepted this many seconds before a fixed time. */
function stampOf(product: string, ago: number, imprint: Imprint = sha256Imprint('a'.repeat(64))): StoredStamp {
  const acceptedAt = new Date(Date.parse('2026-05-20T12:30Z') - ago * 1_000);
  const random = randomBytes(9).toString('hex');
  return {
    tokenId: `${firstIdAt(acceptedAt.getTime())}-7${random.slice(0, 3)}-8${random.slice(3, 6)}-${random.slice(6)}`,
    imprint,
    proofs: [{ kind: 'mock', token: 'token', provider: 'mock', isQualified: false, issuedAt: acceptedAt.toISOString() }],
    tier: 'basic',
    caller: { kind: 'internal', product },
    acceptedAt,
    requestId: 'test',
  };
}

test.each([
  ['with the index of products', true],
  ['without it, as before the indexes are made', false],
])('S12: a page of a product equals a slice of all its sorted stamps, %s', async (_, isIndexed) => {
  const store = openStore(freshStore(), pino({ level: 'silent' }));
  onTestFinished(() => store.close());
  if (isIndexed) await store.prepare();
  const sha512 = { algorithm: 'sha512', digest: 'b'.repeat(128) } as const;
  // Several a second, not in order of time; the others are at the same times.
  const often = Array.from({ length: 120 }, (_, index) => stampOf('often', (index * 7) % 40));
  const others = Array.from({ length: 30 }, (_, index) => stampOf('often', index, sha512));
  await store.stamps.insertOnce([...often, stampOf('rare', 3), ...others, stampOf('often-not', 5)]);

  for (const [product, imprints, stamps] of [
    ['often', undefined, often],
    ['often', 'sha256', often],
    ['often', 'all', [...often, ...others]],
    ['nobody', 'all', []],
  ] as const) {
    const newestFirst = stamps
      .map(({ tokenId }) => tokenId)
      .toSorted()
      .toReversed();
    for (const [offset, limit] of [
      [0, 50],
      [49, 51],
      [100, 100],
      [119, 2],
      [1_000, 10],
    ] as const) {
      const page = await store.stamps.listByProduct(product, { imprints, offset, limit });
      expect(
        page.map(({ tokenId }) => tokenId),
        `${product} ${imprints} ${offset}`,
      ).toEqual(newestFirst.slice(offset, offset + limit));
    }
    expect(await store.stamps.countByProduct(product, imprints, 10_001)).toBe(stamps.length);
    expect(await store.stamps.countByProduct(product, imprints, 7)).toBe(Math.min(7, stamps.length));
  }
  const [newest] = await store.stamps.listByProduct('often', { imprints: 'all', offset: 0, limit: 1 });
  expect(newest?.caller).toEqual({ kind: 'internal', product: 'often' });
});
