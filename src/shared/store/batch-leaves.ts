import { Binary, type Db } from 'mongodb';
import { inOnePage, maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import { insertNew } from './insert.ts';

/** A leaf of a batch that is about to be written. */
export interface NewLeaf {
  readonly tokenId: string;
  readonly blind: Buffer;
}

/** `leaves`: of each leaf the first octets of its blind and the id of its stamp, 20 bytes in all: an index of the stamps would take a hundred. */
interface LeavesDocument {
  /** Of the batch. */
  readonly _id: string;
  readonly leaves: Binary;
}

const blindBytes = 4;
const entryBytes = blindBytes + 16;

const idOf = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/** Of whatever the database holds. */
function entriesOf(leaves: unknown): { blind: Buffer; tokenId: string }[] {
  if (!(leaves instanceof Binary)) return [];
  const bytes = Buffer.from(leaves.buffer);
  return Array.from({ length: Math.floor(bytes.length / entryBytes) }, (_, i) => {
    const [at, end] = [i * entryBytes, (i + 1) * entryBytes];
    return { blind: bytes.subarray(at, at + blindBytes), tokenId: idOf(bytes.toString('hex', at + blindBytes, end)) };
  });
}

export type BatchLeaves = ReturnType<typeof createBatchLeaves>;

/** Whose the leaves of a batch are, so that the stamp of a raw record is found (V2), and a batch that is nobody's. */
export function createBatchLeaves(db: Db) {
  const collection = db.collection<LeavesDocument>('batch_leaves');
  return {
    /** One that is there already stays as it is. */
    insertOnce: async (batchId: string, given: readonly NewLeaf[]): Promise<void> => {
      const leaves = Buffer.alloc(given.length * entryBytes);
      for (const [i, { tokenId, blind }] of given.entries()) {
        blind.copy(leaves, i * entryBytes, 0, blindBytes);
        leaves.write(tokenId.replaceAll('-', ''), i * entryBytes + blindBytes, 'hex');
      }
      await insertNew(db, collection, [{ _id: batchId, leaves: new Binary(leaves) }]);
    },
    /** Up to `limit` batches between two ids, in the order of ids, with the ids of their stamps. @throws ServiceError `store_unavailable` */
    list: async (after: string, before: string, limit: number): Promise<{ batchId: string; tokenIds: string[] }[]> => {
      const found = await inStore(() =>
        collection
          .find({ _id: { $gt: after, $lt: before } }, inOnePage)
          .sort({ _id: 1 })
          .limit(limit)
          .toArray(),
      );
      return found.map(({ _id: batchId, leaves }) => ({ batchId, tokenIds: entriesOf(leaves).map(({ tokenId }) => tokenId) }));
    },
    remove: (batchId: string): Promise<void> => inStore(async () => void (await collection.deleteOne({ _id: batchId }))),
    /** Ids of stamps. */
    find: async (batchId: string, blind: Buffer): Promise<string[]> => {
      const found = await inStore(() => collection.findOne({ _id: batchId }, { maxTimeMS }));
      return entriesOf(found?.leaves).flatMap(({ blind: marked, tokenId }) =>
        blind.subarray(0, blindBytes).equals(marked) ? [tokenId] : [],
      );
    },
  };
}
