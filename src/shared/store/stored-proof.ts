import { hash } from 'node:crypto';
import { Binary } from 'mongodb';
import { blindOf, leafRecordOf } from '../domain/leaf-record.ts';
import {
  type Batch,
  digestCharacters,
  type Imprint,
  type LeafProof,
  type MockProof,
  type Proof,
  type TokenProof,
} from '../domain/stamp.ts';

type StoredTokenProof = Omit<TokenProof, 'tsq' | 'tsr' | 'term' | 'renewals'> & { readonly tsq: Binary; readonly tsr: Binary };

/** What is stored of a leaf: its batch is a document of its own, and its token is composed of both. `path`: blind and siblings, one after the other. */
type StoredLeafProof = Omit<LeafProof, 'batch' | 'path' | 'token'> & { readonly batchId: string; readonly path: Binary };

export type StoredProof = MockProof | StoredTokenProof | StoredLeafProof;

const leafKeyOf = (blind: Buffer): string => blind.toString('hex', 0, 16);

/** What a token is found by: whatever text it is. A leaf keeps its blind when its record is renewed. */
export function tokenDigestOf(token: string): string {
  const blind = blindOf(Buffer.from(token, 'base64'));
  return blind ? leafKeyOf(blind) : hash('sha256', token, 'hex');
}

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
      const { kind, provider, isQualified, issuedAt, batch, path } = proof;
      return { kind, provider, isQualified, issuedAt, batchId: batch.batchId, path: new Binary(Buffer.concat(path)) };
    }
  }
}

/** What is written for `tokenDigestOf` to find it by. */
export const digestsOf = (proof: Proof): string[] => {
  if (proof.kind === 'mock') return [];
  return [proof.kind === 'leaf' ? leafKeyOf(proof.path[0]!) : hash('sha256', proof.token, 'hex')];
};

const bytesOf = (binary: Binary): Buffer => Buffer.from(binary.buffer);

/** What the database may hold where a document of ours should be: everything is to be looked at first. */
export type Found = Readonly<Record<string, unknown>>;

/** Stands where a record has no proof that can be read. Without a token it proves nothing (V1). */
const noProof: MockProof = { kind: 'mock', provider: '', isQualified: false, issuedAt: '', token: '' };

/** The batches that stamps refer to, by id. */
export type Batches = ReadonlyMap<string, Batch>;

/** Undefined of a path that is not made of whole digests. */
function pathIn(path: unknown, digestBytes: number): Buffer[] | undefined {
  if (!(path instanceof Binary) || path.length() === 0 || path.length() % digestBytes !== 0) return undefined;
  const bytes = bytesOf(path);
  return Array.from({ length: bytes.length / digestBytes }, (_, i) => bytes.subarray(i * digestBytes, (i + 1) * digestBytes));
}

function leafOf(claims: Omit<LeafProof, 'kind' | 'token' | 'batch' | 'path'>, stored: Found, imprint: Imprint, batches: Batches): Proof {
  const batch = typeof stored.batchId === 'string' ? batches.get(stored.batchId) : undefined;
  const path = pathIn(stored.path, digestCharacters[imprint.algorithm] / 2);
  if (!batch || !path) return noProof;
  return { kind: 'leaf', ...claims, token: leafRecordOf(imprint, batch, path).toString('base64'), batch, path };
}

function proofOf(stored: Found | null, imprint: Imprint, batches: Batches): Proof {
  const { kind, provider, issuedAt, token, isQualified, tsq, tsr } = stored ?? {};
  if (typeof provider !== 'string' || typeof issuedAt !== 'string') return noProof;
  const claims = { provider, isQualified: isQualified === true, issuedAt };
  if (stored && kind === 'leaf') return leafOf(claims, stored, imprint, batches);
  if (typeof token !== 'string') return noProof;
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
