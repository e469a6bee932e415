import type { Binary, Collection, Db } from 'mongodb';
import type { Imprint, ImprintAlgorithm } from '../domain/stamp.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import { insertIfAbsent } from './insert.ts';
import { digestIn, storedDigestOf } from './stored-evidence.ts';

/** A stamp whose document has a digest of another algorithm, which its evidence does not cover yet (S17). */
export interface NewDigest {
  readonly tokenId: string;
  readonly imprint: Imprint;
}

/** What waits for the next run of renewals. */
export interface NewDigestStore {
  /** The digest must have been computed from the very content that was stamped. One that is there stays. @throws ServiceError `store_unavailable` */
  insertOnce(digest: NewDigest): Promise<void>;
  /** Up to `limit` of those after an id, in the order of ids. @throws ServiceError `store_unavailable` */
  list(after: string, limit: number): Promise<NewDigest[]>;
  /** @throws ServiceError `store_unavailable` */
  remove(tokenIds: readonly string[]): Promise<void>;
}

interface NewDigestDocument {
  /** Of the stamp. */
  readonly _id: string;
  readonly algorithm: ImprintAlgorithm;
  readonly digest: Binary;
}

export function createNewDigestStore(db: Db): NewDigestStore {
  const newDigests: Collection<NewDigestDocument> = db.collection('new_digests');
  return {
    insertOnce: ({ tokenId, imprint }) =>
      inStore(async () => void (await insertIfAbsent(newDigests, { _id: tokenId, ...storedDigestOf(imprint) }))),
    list: (after, limit) =>
      inStore(async () => {
        const found = await newDigests
          .find({ _id: { $gt: after } }, { maxTimeMS })
          .sort({ _id: 1 })
          .limit(limit)
          .toArray();
        return found.flatMap(({ _id: tokenId, ...stored }) => {
          const imprint = digestIn(stored);
          return imprint === undefined ? [] : [{ tokenId, imprint }];
        });
      }),
    remove: (tokenIds) => inStore(async () => void (await newDigests.deleteMany({ _id: { $in: [...tokenIds] } }))),
  };
}
