import { Binary, type Db } from 'mongodb';
import { maxTimeMS } from './connection.ts';
import { inStore, isDuplicateKey } from './errors.ts';

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

/** Whose the leaves of a batch are, so that the stamp of a raw record is found (V2). It is read for nothing else. */
export function createBatchLeaves(db: Db) {
  const collection = db.collection<LeavesDocument>('batch_leaves');
  return {
    /** One that is there already stays as it is. */
    insertOnce: async (batchId: string, given: readonly NewLeaf[]): Promise<void> => {
      const entries = given.flatMap(({ tokenId, blind }) => [
        blind.subarray(0, blindBytes),
        Buffer.from(tokenId.replaceAll('-', ''), 'hex'),
      ]);
      try {
        await collection.insertOne({ _id: batchId, leaves: new Binary(Buffer.concat(entries)) });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    },
    /** Ids of stamps. */
    find: async (batchId: string, blind: Buffer): Promise<string[]> => {
      const found = await inStore(() => collection.findOne({ _id: batchId }, { maxTimeMS }));
      if (!(found?.leaves instanceof Binary)) return [];
      const bytes = Buffer.from(found.leaves.buffer);
      const ids: string[] = [];
      for (let at = 0; at + entryBytes <= bytes.length; at += entryBytes) {
        if (blind.compare(bytes, at, at + blindBytes, 0, blindBytes) === 0)
          ids.push(idOf(bytes.toString('hex', at + blindBytes, at + entryBytes)));
      }
      return ids;
    },
  };
}
