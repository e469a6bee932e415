import type { Collection, Db } from 'mongodb';
import { maxTimeMS } from './connection.ts';
import { duplicatePositions, inStore } from './errors.ts';
import { createProductListing } from './product-listing.ts';
import type { StampDirectory } from './stamp-directory.ts';
import {
  documentOf,
  type FlatStampDocument,
  type StampDocument,
  type StampSummary,
  type StoredStamp,
  stampOf,
  summaryFields,
  summaryOf,
  tokenDigestOf,
} from './stamp-document.ts';

export type { SealedRef, StampSummary, StoredStamp } from './stamp-document.ts';

const scanPage = 1_000;

export interface StampStore {
  /**
   * Writes what is not there yet and returns what is stored under each id, in the order given: whoever wrote first wins.
   * `added` are those that this call wrote.
   */
  insertOnce(stamps: readonly StoredStamp[]): Promise<{ stored: StoredStamp[]; added: StoredStamp[] }>;
  find(tokenId: string): Promise<StoredStamp | null>;
  findMany(tokenIds: readonly string[]): Promise<StoredStamp[]>;
  /** The id of the stamp that holds this RFC 3161 token (base64), or null. */
  findIdByToken(token: string): Promise<string | null>;
  /** A product's stamps, newest first (S12). */
  listByProduct(product: string, page: { limit: number; offset: number }): Promise<StampSummary[]>;
  /** Every stamp, oldest first, for maintenance. @throws ServiceError `store_unavailable` */
  scan(): AsyncIterable<StampSummary>;
}

/** `directory`: what is known of where a product's stamps are; without it they are looked for among all. */
export function createStampStore(db: Db, directory: Pick<StampDirectory, 'marks'> = { marks: async () => [] }): StampStore {
  const stamps: Collection<StampDocument | FlatStampDocument> = db.collection('stamps');
  const listOfProduct = createProductListing(stamps);

  const findMany = (tokenIds: readonly string[]) =>
    inStore(async () => (await stamps.find({ _id: { $in: [...tokenIds] } }, { maxTimeMS }).toArray()).map(stampOf));

  return {
    insertOnce: (given) =>
      inStore(async () => {
        try {
          await stamps.insertMany(given.map(documentOf), { ordered: false });
          return { stored: [...given], added: [...given] };
        } catch (error) {
          const duplicates = duplicatePositions(error);
          if (!duplicates) throw error;
          const taken = await findMany(duplicates.map((position) => given[position]!.tokenId));
          const takenById = new Map(taken.map((stamp) => [stamp.tokenId, stamp]));
          return {
            stored: given.map((stamp) => takenById.get(stamp.tokenId) ?? stamp),
            added: given.filter((_, position) => !duplicates.includes(position)),
          };
        }
      }),
    find: (tokenId) =>
      inStore(async () => {
        const found = await stamps.findOne({ _id: tokenId }, { maxTimeMS });
        return found && stampOf(found);
      }),
    findMany,
    findIdByToken: (token) =>
      inStore(async () => {
        const found = await stamps.findOne({ tokenDigest: tokenDigestOf(token) }, { projection: { _id: 1 }, maxTimeMS });
        return found?._id ?? null;
      }),
    listByProduct: (product, page) =>
      inStore(async () => (await listOfProduct(await directory.marks(product), product, page)).map(summaryOf)),
    scan: async function* () {
      for (let after = ''; ; ) {
        const page = await inStore(() =>
          stamps
            .find({ _id: { $gt: after } }, { projection: summaryFields, maxTimeMS })
            .hint({ _id: 1 })
            .sort({ _id: 1 })
            .limit(scanPage)
            .toArray(),
        );
        yield* page.map(summaryOf);
        const last = page.at(-1);
        if (!last) return;
        after = last._id;
      }
    },
  };
}
