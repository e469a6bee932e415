import type { Binary, Collection, Db } from 'mongodb';
import type { Imprint, ImprintAlgorithm } from '../domain/stamp.ts';
import { eachInStore, insertIfAbsent, maxTimeMS } from './connection.ts';
import { digestIn, storedDigestOf } from './stored-evidence.ts';

/** A digest of a stamp's document in another algorithm. The evidence of the stamp does not cover this digest yet (S17). */
interface NewDigest {
  readonly tokenId: string;
  readonly imprint: Imprint;
}

interface NewDigestDocument {
  /** The stamp's id. */
  readonly _id: string;
  readonly algorithm: ImprintAlgorithm;
  readonly digest: Binary;
}

/** Stores new digests until the next renewal run. */
export function createNewDigestStore(db: Db) {
  const newDigests: Collection<NewDigestDocument> = db.collection('new_digests');
  return eachInStore({
    /** Writes a new digest, unless the stamp already has one. The digest must come from the stamped content. */
    insertOnce: async ({ tokenId, imprint }: NewDigest): Promise<void> => {
      await insertIfAbsent(newDigests, { _id: tokenId, ...storedDigestOf(imprint) });
    },
    /** Lists at most `limit` new digests after the id `after`, in order of ids. */
    list: async (after: string, limit: number): Promise<NewDigest[]> => {
      const found = await newDigests
        .find({ _id: { $gt: after } }, { maxTimeMS })
        .sort({ _id: 1 })
        .limit(limit)
        .toArray();
      return found.flatMap(({ _id: tokenId, ...stored }) => {
        const imprint = digestIn(stored);
        return imprint === undefined ? [] : [{ tokenId, imprint }];
      });
    },
    remove: async (tokenIds: readonly string[]): Promise<void> => {
      await newDigests.deleteMany({ _id: { $in: [...tokenIds] } });
    },
  });
}
