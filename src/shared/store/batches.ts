import { hash } from 'node:crypto';
import { Binary, type Collection, type Db } from 'mongodb';
import { type LeafMarks, tokenOfAnswer } from '../domain/leaf-record.ts';
import { type Batch, digestCharacters, type Imprint } from '../domain/stamp.ts';
import { createBatchLeaves, type NewLeaf } from './batch-leaves.ts';
import { maxTimeMS } from './connection.ts';
import { inStore, isDuplicateKey } from './errors.ts';

/** What is recorded of all stamps of a batch. */
export type BatchClaims = Pick<Batch, 'provider' | 'isQualified' | 'issuedAt'>;

/** What a TSA answered for many stamps at once (S14). */
export interface BatchStore {
  /** Writes a batch and whose its leaves are; one that is there already stays as it is. @throws ServiceError `store_unavailable` */
  insertOnce(batch: Batch, leaves: readonly NewLeaf[]): Promise<void>;
  /** By their ids; absent are those that are unknown or damaged. @throws ServiceError `store_unavailable` */
  findMany(batchIds: readonly string[]): Promise<ReadonlyMap<string, Batch>>;
  /** The same, without what is large in it. */
  findClaims(batchIds: readonly string[]): Promise<ReadonlyMap<string, BatchClaims>>;
  /** The ids of the stamps that this leaf may be of: one, but for a chance of one in a million. @throws ServiceError `store_unavailable` */
  findLeaves(leaf: LeafMarks): Promise<readonly string[]>;
}

/** `_id` is the batch's id. */
export interface BatchDocument extends Omit<Batch, 'batchId' | 'tsq' | 'tsr' | 'tst' | 'crown'> {
  readonly _id: string;
  readonly tsq: Binary;
  readonly tsr: Binary;
  readonly crown: Binary;
  /** SHA-256 of the token, hex; by it the batch of a raw record is found. */
  readonly tokenDigest: string;
}

const bytesOf = (binary: Binary): Buffer => Buffer.from(binary.buffer);

function isImprint(stored: Partial<Imprint> | undefined): stored is Imprint {
  return stored?.algorithm !== undefined && Object.hasOwn(digestCharacters, stored.algorithm) && typeof stored.digest === 'string';
}

function claimsOf({ provider, isQualified, issuedAt }: Partial<BatchDocument>): BatchClaims | undefined {
  if (typeof provider !== 'string' || typeof issuedAt !== 'string') return undefined;
  return { provider, isQualified: isQualified === true, issuedAt };
}

/** Whatever the database holds; undefined where it is no batch. */
function batchOf(document: Partial<BatchDocument>): Batch | undefined {
  const { _id: batchId, root, leaves, tsq, tsr, crown } = document;
  const claims = claimsOf(document);
  if (typeof batchId !== 'string' || !claims || typeof leaves !== 'number' || !isImprint(root)) return undefined;
  if (!(tsq instanceof Binary && tsr instanceof Binary && crown instanceof Binary)) return undefined;
  const answer = bytesOf(tsr);
  const tst = tokenOfAnswer(answer);
  return tst && { batchId, root, leaves, ...claims, tsq: bytesOf(tsq), tsr: answer, tst, crown: bytesOf(crown) };
}

const digestOf = (tst: Buffer): string => hash('sha256', tst, 'hex');

export function createBatchStore(db: Db): BatchStore {
  const batches: Collection<BatchDocument> = db.collection('batches');
  const batchLeaves = createBatchLeaves(db);

  async function insertOnce({ batchId, tsq, tsr, tst, crown, ...rest }: Batch): Promise<void> {
    const bytes = { tsq: new Binary(tsq), tsr: new Binary(tsr), crown: new Binary(crown) };
    try {
      await batches.insertOne({ _id: batchId, ...rest, ...bytes, tokenDigest: digestOf(tst) });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  async function find<T>(batchIds: readonly string[], read: (document: BatchDocument) => T | undefined, projection = {}) {
    const ids = [...new Set(batchIds)];
    const found = ids.length === 0 ? [] : await inStore(() => batches.find({ _id: { $in: ids } }, { projection, maxTimeMS }).toArray());
    return new Map(
      found.flatMap((document): [string, T][] => {
        const value = read(document);
        return value === undefined ? [] : [[document._id, value]];
      }),
    );
  }

  return {
    insertOnce: (batch, leaves) =>
      inStore(async () => void (await Promise.all([insertOnce(batch), batchLeaves.insertOnce(batch.batchId, leaves)]))),
    findMany: (batchIds) => find(batchIds, batchOf),
    findClaims: (batchIds) => find(batchIds, claimsOf, { provider: 1, isQualified: 1, issuedAt: 1 }),
    findLeaves: async ({ tst, blind }) => {
      const found = await inStore(() => batches.findOne({ tokenDigest: digestOf(tst) }, { projection: { _id: 1 }, maxTimeMS }));
      return found ? batchLeaves.find(found._id, blind) : [];
    },
  };
}
