import { hash } from 'node:crypto';
import { Binary, UUID } from 'mongodb';
import { leafRecordOf, lowerPathOf, wholePathOf } from '../domain/evidence.ts';
import { type Batch, digestCharacters, type Imprint, type MockProof, type Proof, type TokenProof } from '../domain/stamp.ts';
import { rememberLast } from '../runtime/remember-last.ts';
import { bytesOf } from './binary.ts';
import { answerIn, type Found, type StoredAnswer, storedAnswerOf } from './stored-token.ts';

type StoredTokenProof = Omit<TokenProof, 'qualification' | 'token' | 'tsq' | 'tsr' | 'term' | 'renewals'> & StoredAnswer;
type StoredMockProof = Omit<MockProof, 'qualification'>;

/**
 * The part of a leaf in the stamp's document; the other parts are in the document of its batch. `path`: the blind, then the siblings up to the
 * stored upper levels (the crown, see leaf-path.ts).
 */
interface StoredLeafProof {
  readonly kind: 'leaf';
  readonly batch: UUID;
  readonly index: number;
  readonly path: Binary;
}

export type StoredProof = StoredMockProof | StoredTokenProof | StoredLeafProof;

/** The digest by which the stamp of a token is found: that of the text, which is not decoded. */
export const textDigestOf = (token: string): string => hash('sha256', token, 'hex');

const uuidOf = rememberLast((id: string) => new UUID(id));

/** Makes the stored form of a proof. @param sets the certificates to store separately are added here, by id */
export function storedProofOf(proof: Proof, sets: Map<string, Buffer>): StoredProof {
  switch (proof.kind) {
    case 'mock': {
      const { qualification: _, ...rest } = proof;
      return rest;
    }
    case 'token': {
      const { qualification: _, term: __, renewals: ___, token, tsq, tsr, ...rest } = proof;
      return { ...rest, ...storedAnswerOf({ token, tsq, tsr }, sets) };
    }
    case 'leaf': {
      const { kind, batch, index, path } = proof;
      const { batchId, leaves } = batch;
      return { kind, batch: uuidOf(batchId), index, path: new Binary(lowerPathOf({ index, leaves }, path)) };
    }
  }
}

/** The proof of a stamp whose stored proof cannot be read. It has no token, so it proves nothing (V1). */
const noProof: MockProof = { kind: 'mock', provider: '', isQualified: false, issuedAt: '', token: '' };

/** The batches of stamps, by id. */
type Batches = ReadonlyMap<string, Batch>;

/** The shared parts of proofs, by id. */
export interface SharedParts {
  readonly batches: Batches;
  readonly certificateSets: ReadonlyMap<string, Buffer>;
}

/** Returns the id of the batch in a stored proof, or undefined if the proof is not a leaf. */
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
  const claims = { provider, isQualified: isQualified === true, issuedAt };
  if (kind === 'mock') return typeof token === 'string' ? { kind, ...claims, token } : noProof;
  const answer = answerIn(stored, certificateSets);
  return answer ? { kind: 'token', ...claims, ...answer } : noProof;
}

/** Reads stored proofs. A proof that cannot be read becomes `noProof`. */
export function proofsOf(stored: unknown, imprint: Imprint, shared: SharedParts): readonly [Proof, ...Proof[]] {
  const [first = noProof, ...others] = Array.isArray(stored) ? stored.map((proof) => proofOf(proof, imprint, shared)) : [];
  return [first, ...others];
}
