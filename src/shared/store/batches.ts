import { Binary, type Collection, type Db } from 'mongodb';
import { tokenOfAnswer } from '../domain/leaf-record.ts';
import { type Batch, digestCharacters, type Imprint } from '../domain/stamp.ts';
import { maxTimeMS } from './connection.ts';
import { inStore, isDuplicateKey } from './errors.ts';
import type { RenewalStore } from './renewals.ts';
import { evidenceOf, renewalIdsIn, type StoredEvidence, storedEvidenceOf } from './stored-evidence.ts';

/** What a TSA answered for many stamps at once (S14). */
export interface BatchStore {
  /** Writes a batch; one that is there already stays as it is. @throws ServiceError `store_unavailable` */
  insertOnce(batch: Batch): Promise<void>;
  /** By their ids; absent are those that are unknown or damaged. @throws ServiceError `store_unavailable` */
  findMany(batchIds: readonly string[]): Promise<ReadonlyMap<string, Batch>>;
}

/** `_id` is the batch's id. */
export interface BatchDocument extends Omit<Batch, 'batchId' | 'tsq' | 'tsr' | 'tst' | 'term' | 'renewals'> {
  readonly _id: string;
  readonly evidence?: StoredEvidence;
  readonly tsq: Binary;
  readonly tsr: Binary;
}

const bytesOf = (binary: Binary): Buffer => Buffer.from(binary.buffer);

function isImprint(stored: Partial<Imprint> | undefined): stored is Imprint {
  return stored?.algorithm !== undefined && Object.hasOwn(digestCharacters, stored.algorithm) && typeof stored.digest === 'string';
}

/** Whatever the database holds; undefined where it is no batch. */
function batchOf(document: Partial<BatchDocument>, renewalTokens: ReadonlyMap<string, Buffer>): Batch | undefined {
  const { _id: batchId, root, leaves, provider, isQualified, issuedAt, tsq, tsr, evidence } = document;
  if (typeof batchId !== 'string' || typeof provider !== 'string' || typeof issuedAt !== 'string' || typeof leaves !== 'number')
    return undefined;
  if (!isImprint(root) || !(tsq instanceof Binary) || !(tsr instanceof Binary)) return undefined;
  const answer = bytesOf(tsr);
  const tst = tokenOfAnswer(answer);
  const claims = { batchId, root, leaves, provider, isQualified: isQualified === true, issuedAt };
  const renewable = evidenceOf(evidence, renewalTokens, digestCharacters[root.algorithm] / 2);
  return tst && { ...claims, tsq: bytesOf(tsq), tsr: answer, tst, ...renewable };
}

/** `renewals`: the tokens that keep batches alive. */
export function createBatchStore(db: Db, renewals: Pick<RenewalStore, 'findTokens'>): BatchStore {
  const batches: Collection<BatchDocument> = db.collection('batches');
  return {
    insertOnce: ({ batchId, tsq, tsr, tst: _, term, renewals: __, ...rest }) =>
      inStore(async () => {
        try {
          await batches.insertOne({ _id: batchId, ...rest, ...storedEvidenceOf(term), tsq: new Binary(tsq), tsr: new Binary(tsr) });
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
        }
      }),
    findMany: async (batchIds) => {
      if (batchIds.length === 0) return new Map();
      const found = await inStore(() => batches.find({ _id: { $in: [...new Set(batchIds)] } }, { maxTimeMS }).toArray());
      const tokens = await renewals.findTokens(found.flatMap(({ evidence }) => renewalIdsIn(evidence)));
      return new Map(found.flatMap((document) => batchOf(document, tokens) ?? []).map((batch) => [batch.batchId, batch]));
    },
  };
}
