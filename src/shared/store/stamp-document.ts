import { hash } from 'node:crypto';
import { Binary } from 'mongodb';
import type { Caller } from '../domain/caller.ts';
import { type Imprint, type MockProof, type Proof, type Stamp, sha256Imprint, type TokenProof } from '../domain/stamp.ts';
import type { StampTier } from '../domain/tiers.ts';

/** Where the content of a sealed stamp lies; the secret of its capability address is stored as a hash only (S11). */
export interface SealedRef {
  readonly contentId: string;
  readonly secretSha256: string;
  readonly bytes: number;
}

/** A stamp with what was asked beside it. */
export interface StoredStamp extends Stamp {
  readonly tier: StampTier;
  readonly caller: Caller;
  readonly acceptedAt: Date;
  readonly requestId: string;
  /** Encrypted under a key of this stamp (`deriveKey`, with the key `stamp-metadata`). Version 0.2.0 kept JSON. */
  readonly metadata?: string | undefined;
  readonly paymentClaim?: string | undefined;
  readonly sealed?: SealedRef | undefined;
  /** Another form in which its token was given out, base64: it is written as a digest only, so that the stamp is found by it. */
  readonly tokenAsSent?: string | undefined;
}

type StoredTokenProof = Omit<TokenProof, 'tsq' | 'tsr'> & { readonly tsq: Binary; readonly tsr: Binary };

/** `_id` is the stamp's id: a UUID version 7, so that its order is time order (S7). */
export interface StampDocument extends Omit<StoredStamp, 'tokenId' | 'proofs' | 'tokenAsSent'> {
  readonly _id: string;
  readonly proofs: readonly [MockProof | StoredTokenProof, ...(MockProof | StoredTokenProof)[]];
  /** SHA-256 of each RFC 3161 `token`, hex; by it a raw token is found again. Mock tokens know their id. */
  readonly tokenDigest?: string | readonly string[] | undefined;
}

/** A stamp as version 0.2.0 wrote it: one proof, spread over the document. Such documents are read as they are. */
export interface FlatStampDocument extends Omit<StampDocument, 'imprint' | 'proofs'> {
  /** SHA-256, hex. */
  readonly hash: string;
  readonly token: string;
  readonly provider: string;
  readonly isQualified: boolean;
  readonly issuedAt: string;
  readonly tsq?: Binary | undefined;
  readonly tsr?: Binary | undefined;
}

export const tokenDigestOf = (token: string): string => hash('sha256', token, 'hex');

const storedProofOf = (proof: Proof): MockProof | StoredTokenProof =>
  proof.kind === 'mock' ? proof : { ...proof, tsq: new Binary(proof.tsq), tsr: new Binary(proof.tsr) };

const bytesOf = (binary: Binary): Buffer => Buffer.from(binary.buffer);

const proofOf = (stored: MockProof | StoredTokenProof): Proof =>
  stored.kind === 'mock' ? stored : { ...stored, tsq: bytesOf(stored.tsq), tsr: bytesOf(stored.tsr) };

export function documentOf({ tokenId, proofs: [first, ...others], tokenAsSent, ...rest }: StoredStamp): StampDocument {
  const tokens = [first, ...others].filter(({ kind }) => kind === 'token').map(({ token }) => token);
  const digests = [...tokens, ...(tokenAsSent === undefined ? [] : [tokenAsSent])].map(tokenDigestOf);
  return {
    _id: tokenId,
    ...rest,
    proofs: [storedProofOf(first), ...others.map(storedProofOf)],
    tokenDigest: digests.length > 1 ? digests : digests[0],
  };
}

/** What both kinds of document say of a stamp without its proofs' bytes. */
export interface StampSummary {
  readonly tokenId: string;
  readonly imprint: Imprint;
  readonly tier: StampTier;
  readonly caller: Caller;
  readonly issuedAt: string;
  readonly provider: string;
  readonly isQualified: boolean;
}

export const summaryFields = {
  tier: 1,
  caller: 1,
  imprint: 1,
  'proofs.issuedAt': 1,
  'proofs.provider': 1,
  'proofs.isQualified': 1,
  hash: 1,
  issuedAt: 1,
  provider: 1,
  isQualified: 1,
} as const;

export function summaryOf(document: StampDocument | FlatStampDocument): StampSummary {
  const { _id: tokenId, tier, caller } = document;
  const { issuedAt, provider, isQualified } = 'proofs' in document ? document.proofs[0] : document;
  const imprint = 'imprint' in document ? document.imprint : sha256Imprint(document.hash);
  return { tokenId, imprint, tier, caller, issuedAt, provider, isQualified };
}

export function stampOf(document: StampDocument | FlatStampDocument): StoredStamp {
  if ('proofs' in document) {
    const {
      _id: tokenId,
      proofs: [first, ...others],
      tokenDigest: _,
      ...rest
    } = document;
    return { tokenId, ...rest, proofs: [proofOf(first), ...others.map(proofOf)] };
  }
  const { _id: tokenId, hash: digest, token, provider, isQualified, issuedAt, tsq, tsr, tokenDigest: _, ...rest } = document;
  const claims = { provider, isQualified, issuedAt, token };
  const proof: Proof = tsq && tsr ? { kind: 'token', ...claims, tsq: bytesOf(tsq), tsr: bytesOf(tsr) } : { kind: 'mock', ...claims };
  return { tokenId, imprint: sha256Imprint(digest), ...rest, proofs: [proof] };
}
