import type { Collection, Db } from 'mongodb';
import { firstIdAt } from '../domain/stamp-id.ts';
import { leavesIn } from './batch-leaves.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import { type AnyStamp, batchIdsIn } from './stamp-document.ts';

/** Batches whose stamps were never written by the worker that asked for them: it was killed in between, and another one asked anew. */
export interface OrphanBatchStore {
  /**
   * Removes batches that were made before `before` and that no stamp can refer to any more: each of their stamps is there, and has another proof, which
   * stays (`insertOnce`). A batch of which a stamp is missing is kept: it may still be written. Each batch is looked at once.
   *
   * @returns how many were removed
   * @throws ServiceError `store_unavailable`: the next call goes on
   */
  sweep(before: Date): Promise<number>;
}

/** Of the collection `checks`. */
interface NoteDocument {
  readonly _id: string;
  readonly after?: string;
}
const noteId = 'batch-sweep';

/** A batch of 4 096 leaves takes 80 KB of them. */
const perStep = 50;

interface FoundBatch {
  readonly _id: string;
  readonly leaves?: unknown;
  readonly leafIds?: unknown;
}

export function createOrphanBatchStore(db: Db): OrphanBatchStore {
  const batches: Collection<FoundBatch> = db.collection('batches');
  const stamps: Collection<AnyStamp> = db.collection('stamps');
  const notes: Collection<NoteDocument> = db.collection('checks');

  /** Of each stamp that is there the batches that it refers to. */
  async function batchesOf(tokenIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const projection = { 'proofs.kind': 1, 'proofs.batch': 1 };
    const found = await inStore(() => stamps.find({ _id: { $in: [...tokenIds] } }, { projection, maxTimeMS }).toArray());
    return new Map(found.map((document) => [document._id, batchIdsIn(document)]));
  }

  /** Batches between two ids, in the order of ids, with the ids of their stamps. */
  async function list(after: string, before: string) {
    const range = { _id: { $gt: after, $lt: before } };
    const options = { projection: { leaves: 1, leafIds: 1 }, maxTimeMS };
    const found = await inStore(() => batches.find(range, options).hint({ _id: 1 }).sort({ _id: 1 }).limit(perStep).toArray());
    return found.map(({ _id, leaves, leafIds }) => ({ batchId: _id, leaves, tokenIds: leavesIn(leafIds).map(({ tokenId }) => tokenId) }));
  }

  async function isOrphan({ batchId, leaves, tokenIds }: Awaited<ReturnType<typeof list>>[number]): Promise<boolean> {
    if (leaves !== tokenIds.length) return false;
    const found = await batchesOf(tokenIds);
    return tokenIds.every((tokenId) => found.get(tokenId)?.includes(batchId) === false);
  }

  return {
    sweep: async (before) => {
      let removed = 0;
      let after = (await inStore(() => notes.findOne({ _id: noteId }, { maxTimeMS })))?.after ?? '';
      for (;;) {
        const page = await list(after, firstIdAt(before.getTime()));
        const last = page.at(-1);
        if (last === undefined) return removed;
        // Nearly all are told apart by one stamp.
        const first = await batchesOf(page.flatMap(({ tokenIds }) => tokenIds[0] ?? []));
        for (const batch of page) {
          const { batchId, tokenIds } = batch;
          if (first.get(tokenIds[0] ?? '')?.includes(batchId) || !(await isOrphan(batch))) continue;
          await inStore(() => batches.deleteOne({ _id: batchId }));
          removed += 1;
        }
        after = last.batchId;
        await inStore(() => notes.updateOne({ _id: noteId }, { $set: { after } }, { upsert: true }));
      }
    },
  };
}
