import { Binary, type Collection, type Db } from 'mongodb';
import { tokenOfAnswer } from '../domain/leaf-record.ts';
import { type Batch, digestCharacters, type Imprint } from '../domain/stamp.ts';
import { maxTimeMS } from './connection.ts';
import { inStore, isDuplicateKey } from './errors.ts';

/** What a TSA answered for many stamps at once (S14). */
export interface BatchStore {
  /** Writes a batch; one that is there already stays as it is. @throws ServiceError `store_unavailable` */
  insertOnce(batch: Batch): Promise<void>;
  /** By their ids; absent are those that are unknown or damaged. @throws ServiceError `store_unavailable` */
  findMany(batchIds: readonly string[]): Promise<ReadonlyMap<string, Batch>>;
}

/** `_id` is the batch's id. */
export interface BatchDocument extends Omit<Batch, 'batchId' | 'tsq' | 'tsr' | 'tst'> {
  readonly _id: string;
  readonly tsq: Binary;
  readonly tsr: Binary;
}

const bytesOf = (binary: Binary): Buffer => Buffer.from(binary.buffer);

function isImprint(stored: Partial<Imprint> | undefined): stored is Imprint {
  return stored?.algorithm !== undefined && Object.hasOwn(digestCharacters, stored.algorithm) && typeof stored.digest === 'string';
}

/** Whatever the database holds; undefined where it is no batch. */
function batchOf({ _id: batchId, root, leaves, provider, isQualified, issuedAt, tsq, tsr }: Partial<BatchDocument>): Batch | undefined {
  if (typeof batchId !== 'string' || typeof provider !== 'string' || typeof issuedAt !== 'string' || typeof leaves !== 'number')
    return undefined;
  if (!isImprint(root) || !(tsq instanceof Binary) || !(tsr instanceof Binary)) return undefined;
  const answer = bytesOf(tsr);
  const tst = tokenOfAnswer(answer);
  return tst && { batchId, root, leaves, provider, isQualified: isQualified === true, issuedAt, tsq: bytesOf(tsq), tsr: answer, tst };
}

export function createBatchStore(db: Db): BatchStore {
  const batches: Collection<BatchDocument> = db.collection('batches');
  return {
    insertOnce: ({ batchId, tsq, tsr, tst: _, ...rest }) =>
      inStore(async () => {
        try {
          await batches.insertOne({ _id: batchId, ...rest, tsq: new Binary(tsq), tsr: new Binary(tsr) });
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
        }
      }),
    findMany: (batchIds) =>
      inStore(async () => {
        if (batchIds.length === 0) return new Map();
        const found = await batches.find({ _id: { $in: [...new Set(batchIds)] } }, { maxTimeMS }).toArray();
        return new Map(found.flatMap((document) => batchOf(document) ?? []).map((batch) => [batch.batchId, batch]));
      }),
  };
}
