import { type Collection, MongoServerError } from 'mongodb';
import { firstIdAt, timeOfId } from '../domain/stamp-id.ts';
import { inOnePage, maxTimeMS } from './connection.ts';
import { productIndex } from './indexes.ts';
import { type IdRange, inRange, newestIds, type StoredProducts } from './product-stamps.ts';
import { blockSize } from './stamp-directory.ts';
import { type AnyStamp, othersOf, summaryFields } from './stamp-document.ts';

/** Part of a product's stamps: those of SHA-256, or all. */
export interface ProductPage extends Page {
  readonly imprints?: 'sha256' | 'all' | undefined;
}

interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** So much may the clock be ahead that made the newest id. */
const aheadMs = 60_000;

/** Within this many stamps a page is found without counting first. */
const near = 2 * blockSize;

/** An index that does not exist (yet) is a "bad value" of the hint, on every server. */
const isUnknownHint = (error: unknown): boolean => error instanceof MongoServerError && error.code === 2 && /hint/i.test(error.message);

/**
 * Lists the stamps of a product, newest first (S12), by marks of the directory: its cost does not grow with the stamps of this product or
 * of others, nor with the offset. DocumentDB sorts by no other index than that of `_id`, so a query of the product's index is given two ids
 * between which there is little to sort. Without marks it looks through all stamps. There are no marks for all imprints together: that list
 * reads ids from the newest to the page, so its cost grows with the offset.
 */
export function createProductListing(stamps: Collection<AnyStamp>) {
  const readBy =
    (hint: string | { readonly _id: 1 }) =>
    (product: StoredProducts, range: IdRange, { offset, limit }: Page): Promise<AnyStamp[]> =>
      stamps
        .find(inRange(product, range), { projection: summaryFields, ...inOnePage })
        .hint(hint)
        .sort({ _id: -1 })
        .skip(offset)
        .limit(limit)
        .toArray();
  const scan = readBy({ _id: 1 });
  const seek = readBy(productIndex);

  /** Where the newest `wanted` stamps can be expected, by how fast the last ones came. */
  function guessStart(marks: readonly string[], wanted: number): string {
    const [before, last] = marks.slice(-2);
    if (!before || !last) return '';
    const spanMs = Math.max(1, timeOfId(last) - timeOfId(before));
    return firstIdAt(Date.now() - (2 * wanted * spanMs) / blockSize);
  }

  async function seekByMarks(marks: readonly string[], product: string, page: Page): Promise<AnyStamp[]> {
    const { offset, limit } = page;
    const wanted = offset + limit;
    const first = marks[0] ?? '';
    const newest = marks.length - 1;
    const last = marks[newest] ?? '';

    /** The page within what begins with the `count` newest marked stamps. */
    const seekAfter = (count: number, within: Page, until?: string): Promise<AnyStamp[]> => {
      const after = marks[newest - Math.ceil(count / blockSize)] ?? '';
      const isMarked = after !== '' || first === '';
      return isMarked ? seek(product, { after, until }, within) : scan(product, { after, until }, within);
    };

    if (wanted <= near) {
      const guess = guessStart(marks, wanted);
      const guessed = guess > last ? await seek(product, { after: guess }, page) : [];
      return guessed.length === limit ? guessed : seekAfter(wanted, page);
    }
    const unmarked = await stamps.countDocuments(inRange(product, { after: last }), { hint: productIndex, maxTimeMS });
    if (offset < unmarked) return seekAfter(Math.max(0, wanted - unmarked), page);
    const skippedBlocks = Math.floor((offset - unmarked) / blockSize);
    const until = marks[newest - skippedBlocks];
    // Nothing is counted before the first mark.
    if (until === undefined) return scan(product, { after: '', until: first }, { limit, offset: offset - unmarked - newest * blockSize });
    const rest = (offset - unmarked) % blockSize;
    return seekAfter(skippedBlocks * blockSize + rest + limit, { limit, offset: rest }, until);
  }

  async function readAll(products: StoredProducts, { offset, limit }: Page): Promise<AnyStamp[]> {
    const range = { after: '', until: firstIdAt(Date.now() + aheadMs) };
    const ids = (await newestIds(stamps, products, range, offset + limit)).reverse().slice(offset);
    const found = await stamps.find({ _id: { $in: ids } }, { projection: summaryFields, ...inOnePage }).toArray();
    return found.sort((a, b) => (a._id < b._id ? 1 : -1));
  }

  return async (marks: readonly string[], product: string, { imprints, ...page }: ProductPage): Promise<AnyStamp[]> => {
    const products = imprints === 'all' ? { $in: [product, othersOf(product)] } : product;
    try {
      if (typeof products !== 'string') return await readAll(products, page);
      if (marks.length > 0) return await seekByMarks(marks, products, page);
    } catch (error) {
      if (!isUnknownHint(error)) throw error;
    }
    return scan(products, { after: '' }, page);
  };
}
