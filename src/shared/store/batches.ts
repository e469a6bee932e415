import { hash } from 'node:crypto';
import { Binary, type Collection, type Db } from 'mongodb';
import type { LeafMarks } from '../domain/evidence.ts';
import { type Batch, digestCharacters, type Imprint } from '../domain/stamp.ts';
import { tokenIn } from '../domain/token.ts';
import { bytesOf, inStore, insertNew, maxTimeMS } from './connection.ts';
import type { RenewalStore } from './renewals.ts';
import { evidenceOf, renewalIdsIn, type StoredEvidence, storedEvidenceOf } from './stored-evidence.ts';

/** A leaf of a batch before it is written. */
export interface NewLeaf {
  readonly tokenId: string;
  readonly blind: Buffer;
}

const blindBytes = 4;
const entryBytes = blindBytes + 16;

const idOf = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/** Encodes the ids of a batch's stamps for its document, in 20 octets for each leaf. An index over the stamps would take a hundred octets. */
function leafIdsOf(leaves: readonly NewLeaf[]): Buffer {
  const ids = Buffer.alloc(leaves.length * entryBytes);
  for (const [i, { tokenId, blind }] of leaves.entries()) {
    blind.copy(ids, i * entryBytes, 0, blindBytes);
    ids.write(tokenId.replaceAll('-', ''), i * entryBytes + blindBytes, 'hex');
  }
  return ids;
}

/** Reads the stamp id and the first octets of the blind for each leaf. Returns an empty list if the stored data has another form. */
function leavesIn(leafIds: unknown): { blind: Buffer; tokenId: string }[] {
  if (!(leafIds instanceof Binary)) return [];
  const bytes = bytesOf(leafIds);
  return Array.from({ length: Math.floor(bytes.length / entryBytes) }, (_, i) => {
    const [at, end] = [i * entryBytes, (i + 1) * entryBytes];
    return { blind: bytes.subarray(at, at + blindBytes), tokenId: idOf(bytes.toString('hex', at + blindBytes, end)) };
  });
}

/** Returns true if `leaf` may have this blind: the document has only the first octets of its blind. */
const isMarkedBy = (blind: Buffer, leaf: { readonly blind: Buffer }): boolean => blind.subarray(0, blindBytes).equals(leaf.blind);

/** The fields that all stamps of a batch share. */
type BatchClaims = Pick<Batch, 'provider' | 'isQualified' | 'issuedAt'>;

/** A batch as stored. `_id` is the batch's id. */
interface BatchDocument extends Omit<Batch, 'batchId' | 'qualification' | 'tsq' | 'tsr' | 'tst' | 'crown' | 'term' | 'renewals'> {
  readonly _id: string;
  readonly evidence?: StoredEvidence;
  readonly tsq: Binary;
  readonly tsr: Binary;
  readonly crown: Binary;
  /** SHA-256 of the token, hex. It is used to find the batch of an evidence record that a client sends. */
  readonly tokenDigest: string;
  /** The ids of the leaves' stamps (`leafIdsOf`). They are used to find the stamp of an evidence record that a client sends. */
  readonly leafIds: Binary;
}

/** Normal reads omit the stamp ids, which may be the largest part of a batch. */
const withoutLeafIds = { leafIds: 0 } as const;

function isImprint(stored: Partial<Imprint> | undefined): stored is Imprint {
  return stored?.algorithm !== undefined && Object.hasOwn(digestCharacters, stored.algorithm) && typeof stored.digest === 'string';
}

function claimsOf({ provider, isQualified, issuedAt }: Partial<BatchDocument>): BatchClaims | undefined {
  if (typeof provider !== 'string' || typeof issuedAt !== 'string') return undefined;
  return { provider, isQualified: isQualified === true, issuedAt };
}

/** Reads a stored batch. Returns undefined if the stored data is not a batch. */
function batchOf(document: Partial<BatchDocument>, renewalTokens: ReadonlyMap<string, Buffer>): Batch | undefined {
  const { _id: batchId, root, leaves, tsq, tsr, crown, evidence } = document;
  const claims = claimsOf(document);
  if (typeof batchId !== 'string' || !claims || typeof leaves !== 'number' || !isImprint(root)) return undefined;
  if (!(tsq instanceof Binary && tsr instanceof Binary && crown instanceof Binary)) return undefined;
  const answer = bytesOf(tsr);
  const tst = tokenIn(answer);
  const renewable = evidenceOf(evidence, renewalTokens, root.algorithm);
  return tst && { batchId, root, leaves, ...claims, tsq: bytesOf(tsq), tsr: answer, tst, crown: bytesOf(crown), ...renewable };
}

const digestOf = (tst: Buffer): string => hash('sha256', tst, 'hex');

export type BatchStore = ReturnType<typeof createBatchStore>;

/** Stores batches: one TSA answer for many stamps (S14). `renewals`: the tokens that renew batches. */
export function createBatchStore(db: Db, renewals: RenewalStore) {
  const batches: Collection<BatchDocument> = db.collection('batches');

  async function find(batchIds: readonly string[], projection: object = withoutLeafIds): Promise<BatchDocument[]> {
    const ids = [...new Set(batchIds)];
    return ids.length === 0 ? [] : inStore(() => batches.find({ _id: { $in: ids } }, { projection, maxTimeMS }).toArray());
  }

  return {
    /** Writes a batch and the ids of its leaves' stamps. If the batch exists, nothing changes. */
    insertOnce: async (batch: Batch, leaves: readonly NewLeaf[]): Promise<void> => {
      const { batchId, tsq, tsr, tst, crown, term, renewals: _, qualification: __, ...rest } = batch;
      const bytes = { tsq: new Binary(tsq), tsr: new Binary(tsr), crown: new Binary(crown), leafIds: new Binary(leafIdsOf(leaves)) };
      const document = { _id: batchId, ...rest, ...storedEvidenceOf(term), ...bytes, tokenDigest: digestOf(tst) };
      await inStore(() => insertNew(db, batches, [document]));
    },
    /** Finds batches by id. Unknown and damaged batches are absent from the result. */
    findMany: async (batchIds: readonly string[]): Promise<ReadonlyMap<string, Batch>> => {
      const found = await find(batchIds);
      const tokens = await renewals.findTokens(found.flatMap(({ evidence }) => renewalIdsIn(evidence)));
      return new Map(found.flatMap((document) => batchOf(document, tokens) ?? []).map((batch) => [batch.batchId, batch]));
    },
    /** Like `findMany`, but returns only the fields that all stamps of a batch share. */
    findClaims: async (batchIds: readonly string[]): Promise<ReadonlyMap<string, BatchClaims>> => {
      const found = await find(batchIds, { provider: 1, isQualified: 1, issuedAt: 1 });
      return new Map(found.flatMap((document) => [claimsOf(document) ?? []].flat().map((claims) => [document._id, claims] as const)));
    },
    /** Returns the ids of the stamps that may belong to this leaf. Nearly always it is one id: two leaves of a batch rarely have similar blinds. */
    findLeaves: async ({ tst, blind }: LeafMarks): Promise<readonly string[]> => {
      const projection = { leafIds: 1 };
      const found = await inStore(() => batches.findOne({ tokenDigest: digestOf(tst) }, { projection, maxTimeMS }));
      return leavesIn(found?.leafIds).flatMap((one) => (isMarkedBy(blind, one) ? [one.tokenId] : []));
    },
  };
}
