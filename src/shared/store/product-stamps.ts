import type { Collection } from 'mongodb';
import { firstIdAt, timeOfId } from '../domain/stamp-id.ts';
import { inOnePage } from './connection.ts';
import { productIndex } from './indexes.ts';
import type { AnyStamp } from './stamp-document.ts';

/** The ids between two others. */
export interface IdRange {
  /** Not in it. */
  readonly after: string;
  /** In it; without it the range is open. */
  readonly until?: string | undefined;
}

/** Names under which stamps of a product are stored. */
export type StoredProducts = string | { readonly $in: readonly string[] };

export const inRange = (product: StoredProducts, { after, until }: IdRange) => ({
  'caller.product': product,
  _id: { $gt: after, ...(until !== undefined && { $lte: until }) },
});

const firstSpanMs = 60_000;
/** Read at once, so that a worker is not kept from its jobs for long. */
const mostInSpan = 10_000;
const spanGrowth = 4;

/** How long the next span is, so that half of what may be in it is: as long as there were `found` in the one before. */
const nextSpanMs = (spanMs: number, found: number): number =>
  Math.max(1, Math.floor(spanMs * Math.min(spanGrowth, mostInSpan / 2 / Math.max(1, found))));

/**
 * The newest ids of a product within the range, at most `most`, oldest first. It reads spans of time, newest first, which it makes shorter where there is
 * much and longer where there is little: nothing is sorted by the store, and memory is bounded.
 */
export async function newestIds(
  stamps: Collection<AnyStamp>,
  product: StoredProducts,
  { after, until }: { readonly after: string; readonly until: string },
  most: number,
): Promise<string[]> {
  /** The ids in a span, or undefined when they are too many and it could be shorter. */
  async function readSpan(span: IdRange, isShortest: boolean): Promise<string[] | undefined> {
    const found = stamps
      .find(inRange(product, span), { projection: { _id: 1 }, ...inOnePage })
      .hint(productIndex)
      .limit(isShortest ? 0 : mostInSpan + 1);
    const ids = (await found.toArray()).map(({ _id }) => _id);
    return isShortest || ids.length <= mostInSpan ? ids.sort() : undefined;
  }

  const newestFirst: string[][] = [];
  let count = 0;
  let end = until;
  for (let spanMs = firstSpanMs; end > after && count < most; ) {
    const startMs = timeOfId(end) - spanMs;
    const start = startMs > 0 && firstIdAt(startMs) > after ? firstIdAt(startMs) : after;
    const ids = await readSpan({ after: start, until: end }, spanMs <= 1);
    if (ids) {
      newestFirst.push(ids);
      count += ids.length;
      end = start;
      spanMs = nextSpanMs(spanMs, ids.length);
    } else {
      spanMs = Math.ceil(spanMs / spanGrowth ** 2);
    }
  }
  return newestFirst.reverse().flat().slice(-most);
}
