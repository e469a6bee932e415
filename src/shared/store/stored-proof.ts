import { hash } from 'node:crypto';
import { Binary, UUID } from 'mongodb';
import { lowerPathOf, wholePathOf } from '../domain/leaf-path.ts';
import { leafRecordOf } from '../domain/leaf-record.ts';
import { type Batch, digestCharacters, type Imprint, type MockProof, type Proof, type TokenProof } from '../domain/stamp.ts';

type StoredTokenProof = Omit<TokenProof, 'tsq' | 'tsr' | 'term' | 'renewals'> & { readonly tsq: Binary; readonly tsr: Binary };

/** What is stored of a leaf: all else is in the document of its batch. `path`: blind and the siblings below the crown of the tree. */
interface StoredLeafProof {
  readonly kind: 'leaf';
  readonly batch: UUID;
  readonly index: number;
  readonly path: Binary;
}

export type StoredProof = MockProof | StoredTokenProof | StoredLeafProof;

/** What a token is found by: whatever text it is. */
export const tokenDigestOf = (token: string): string => hash('sha256', token, 'hex');

/** What is written of a proof. */
export function storedProofOf(proof: Proof): StoredProof {
  switch (proof.kind) {
    case 'mock':
      return proof;
    case 'token': {
      const { term: _, renewals: __, tsq, tsr, ...rest } = proof;
      return { ...rest, tsq: new Binary(tsq), tsr: new Binary(tsr) };
    }
    case 'leaf': {
      const { kind, batch, index, path } = proof;
      const { batchId, leaves } = batch;
      return { kind, batch: new UUID(batchId), index, path: new Binary(lowerPathOf({ index, leaves }, path)) };
    }
  }
}

const bytesOf = (binary: Binary): Buffer => Buffer.from(binary.buffer);

/** What the database may hold where a document of ours should be: everything is to be looked at first. */
export type Found = Readonly<Record<string, unknown>>;

/** Stands where a record has no proof that can be read. Without a token it proves nothing (V1). */
const noProof: MockProof = { kind: 'mock', provider: '', isQualified: false, issuedAt: '', token: '' };

/** The batches that stamps refer to, by id. */
export type Batches = ReadonlyMap<string, Batch>;

/** The id of the batch that something read from the database refers to. */
export function batchIdIn(proof: unknown): string | undefined {
  const { kind, batch } = (proof ?? {}) as Found;
  return kind === 'leaf' && batch instanceof Binary && UUID.isValid(batch) ? new UUID(batch.buffer).toHexString() : undefined;
}

function leafOf(stored: Found, imprint: Imprint, batches: Batches): Proof {
  const batch = batches.get(batchIdIn(stored) ?? '');
  const { index, path: lower } = stored;
  if (!batch || typeof index !== 'number' || !(lower instanceof Binary)) return noProof;
  const { leaves, crown, provider, isQualified, issuedAt } = batch;
  const path = wholePathOf({ index, leaves }, bytesOf(lower), crown, digestCharacters[imprint.algorithm] / 2);
  if (!path) return noProof;
  const token = leafRecordOf(imprint, batch, path).toString('base64');
  return { kind: 'leaf', provider, isQualified, issuedAt, token, batch, index, path };
}

function proofOf(stored: Found | null, imprint: Imprint, batches: Batches): Proof {
  const { kind, provider, issuedAt, token, isQualified, tsq, tsr } = stored ?? {};
  if (stored && kind === 'leaf') return leafOf(stored, imprint, batches);
  if (typeof provider !== 'string' || typeof issuedAt !== 'string' || typeof token !== 'string') return noProof;
  const claims = { provider, isQualified: isQualified === true, issuedAt };
  if (kind === 'mock') return { kind, ...claims, token };
  return tsq instanceof Binary && tsr instanceof Binary
    ? { kind: 'token', ...claims, token, tsq: bytesOf(tsq), tsr: bytesOf(tsr) }
    : noProof;
}

/** Reads whatever stands where proofs should be. */
export function proofsOf(stored: unknown, imprint: Imprint, batches: Batches): readonly [Proof, ...Proof[]] {
  const [first = noProof, ...others] = Array.isArray(stored) ? stored.map((proof) => proofOf(proof, imprint, batches)) : [];
  return [first, ...others];
}
