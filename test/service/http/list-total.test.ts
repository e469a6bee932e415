import { expect, test } from 'vitest';
import { listStamps } from '../../../src/api/stamps/stamp-list.ts';
import { sha256Imprint } from '../../../src/shared/domain/stamp.ts';
import type { Store } from '../../../src/shared/store/store.ts';

const listed = {
  tokenId: 'id',
  imprint: sha256Imprint('a'.repeat(64)),
  tier: 'basic',
  caller: { kind: 'internal', product: 'p' },
  issuedAt: '2026-05-20T12:30:00Z',
  provider: 'mock',
  isQualified: false,
} as const;

/** The total on a page of stamps, given the count of the store and the rows of each kind. */
async function totalOf({ offset = 0, shown = 1, inStore = 0, inRows = 0, imprints = 'sha256' as 'sha256' | 'all' }) {
  const store = {
    stamps: {
      listByProduct: async () => Array.from({ length: shown }, () => listed),
      countByProduct: async (_product: string, _imprints: string, limit: number) => Math.min(inStore, limit),
    },
    counters: { productTotal: async (products: readonly string[]) => inRows * products.length },
  } as unknown as Store;
  return (await listStamps(store, 'p', { limit: 50, offset, imprints, details: false })).total;
}

test.each([
  ['up to 10 000 are counted, whatever the rows say', { inStore: 10_000, inRows: 12_000 }, 10_000],
  ['of more the rows tell', { inStore: 20_000, inRows: 20_001 }, 20_001],
  ['of more than 10 000 never fewer than were counted', { inStore: 20_000, inRows: 3 }, 10_001],
  ['of all imprints the rows of both kinds tell', { inStore: 40_000, inRows: 20_000, imprints: 'all' as const }, 40_000],
  ['a page shows what came after the count', { offset: 50, shown: 7, inStore: 55 }, 57],
  ['a page beyond the end shows nothing', { offset: 500, shown: 0, inStore: 55 }, 55],
])('S12: %s', async (_, state, total) => {
  expect(await totalOf(state)).toBe(total);
});
