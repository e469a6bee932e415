import type { z } from 'zod';
import { contentSha256Of, type StampListResponse } from '../../shared/contract/stamp.ts';
import type { listQuery } from '../../shared/contract/status.ts';
import { othersOf } from '../../shared/store/stamps.ts';
import type { Store } from '../../shared/store/store.ts';

/** Up to this number the stamps of a product are counted for each request. Above it, the stored counters give the total. */
const countedWhenAsked = 10_000;

/** A page of a product's stamps, newest first, and the total number (S12). @throws ServiceError `store_unavailable` */
export async function listStamps(
  store: Store,
  product: string,
  { limit, offset, imprints }: z.output<typeof listQuery>,
): Promise<StampListResponse> {
  const page = store.stamps.listByProduct(product, { limit, offset, imprints });
  const [stored, total] = await Promise.all([page, totalOf(store, product, imprints)]);
  const items = stored.map(({ tokenId, issuedAt, tier, imprint, isQualified }) => ({
    token_id: tokenId,
    issued_at: issuedAt,
    tier,
    content_sha256: contentSha256Of(imprint),
    imprint,
    is_qualified: isQualified,
  }));
  // The page may show stamps that were made after the total was read.
  return { items, total: items.length === 0 ? total : Math.max(total, offset + items.length) };
}

async function totalOf({ stamps, counters }: Store, product: string, imprints: 'sha256' | 'all' | undefined): Promise<number> {
  const counted = await stamps.countByProduct(product, imprints, countedWhenAsked + 1);
  if (counted <= countedWhenAsked) return counted;
  return Math.max(counted, await counters.productTotal(imprints === 'all' ? [product, othersOf(product)] : [product]));
}
