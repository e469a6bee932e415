import { hash } from 'node:crypto';
import { Binary, UUID } from 'mongodb';
import { withUsualFraction } from '../domain/gen-time.ts';
import { lowerPathOf, wholePathOf } from '../domain/leaf-path.ts';
import { leafRecordOf } from '../domain/leaf-record.ts';
import { type Batch, digestCharacters, type Imprint, type MockProof, type Proof, type TokenProof } from '../domain/stamp.ts';
import { rememberLast } from '../runtime/remember-last.ts';
import { bytesOf } from './binary.ts';
import { answerIn, type StoredAnswer, storedAnswerOf } from './stored-token.ts';

type StoredTokenProof = Omit<TokenProof, 'token' | 'tsq' | 'tsr' | 'term' | 'renewals'> & StoredAnswer;

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

const uuidOf = rememberLast((id: string) => new UUID(id));

/** What is written of a proof. @param sets takes the certificates that are kept once for many */
export function storedProofOf(proof: Proof, sets: Map<string, Buffer>): StoredProof {
  switch (proof.kind) {
    case 'mock':
      return proof;
    case 'token': {
      const { term: _, renewals: __, token, tsq, tsr, ...rest } = proof;
      return { ...rest, ...storedAnswerOf({ token, tsq, tsr }, sets) };
    }
    case 'leaf': {
      const { kind, batch, index, path } = proof;
      const { batchId, leaves } = batch;
      return { kind, batch: uuidOf(batchId), index, path: new Binary(lowerPathOf({ index, leaves }, path)) };
    }
  }
}

/** What the database may hold where a document of ours should be: everything is to be looked at first. */
export type Found = Readonly<Record<string, unknown>>;

/** Stands where a record has no proof that can be read. Without a token it proves nothing (V1). */
const noProof: MockProof = { kind: 'mock', provider: '', isQualified: false, issuedAt: '', token: '' };

/** The batches that stamps refer to, by id. */
export type Batches = ReadonlyMap<string, Batch>;

/** What proofs refer to, by their ids. */
export interface SharedParts {
  readonly batches: Batches;
  readonly certificateSets: ReadonlyMap<string, Buffer>;
}

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

function proofOf(stored: Found | null, imprint: Imprint, { batches, certificateSets }: SharedParts): Proof {
  const { kind, provider, issuedAt, token, isQualified } = stored ?? {};
  if (stored && kind === 'leaf') return leafOf(stored, imprint, batches);
  if (!stored || typeof provider !== 'string' || typeof issuedAt !== 'string') return noProof;
  const claims = { provider, isQualified: isQualified === true, issuedAt: withUsualFraction(issuedAt) };
  if (kind === 'mock') return typeof token === 'string' ? { kind, ...claims, token } : noProof;
  const answer = answerIn(stored, certificateSets);
  return answer ? { kind: 'token', ...claims, ...answer } : noProof;
}

/** Reads whatever stands where proofs should be. */
export function proofsOf(stored: unknown, imprint: Imprint, shared: SharedParts): readonly [Proof, ...Proof[]] {
  const [first = noProof, ...others] = Array.isArray(stored) ? stored.map((proof) => proofOf(proof, imprint, shared)) : [];
  return [first, ...others];
}
