import { Binary } from 'mongodb';
import type { Caller, StampTier } from '../domain/stamp.ts';
import { digestCharacters, type Imprint, type Proof, type Stamp, sha256Imprint, timeOfId } from '../domain/stamp.ts';
import { bytesOf } from './binary.ts';
import { evidenceOf, ownEvidenceOf, type StoredEvidence, storedEvidenceOf } from './stored-evidence.ts';
import { batchIdIn, proofsOf, type SharedParts, type StoredProof, storedProofOf, textDigestOf } from './stored-proof.ts';
import type { Found } from './stored-token.ts';
import { certificateSetIdIn } from './stored-token.ts';

/** Refers to the sealed content of a stamp. The secret in the content's address is stored only as a hash (S11). */
export interface SealedRef {
  readonly contentId: string;
  readonly secretSha256: string;
  readonly bytes: number;
}

/** A stamp with the other data of its request. */
export interface StoredStamp extends Stamp {
  readonly tier: StampTier;
  readonly caller: Caller;
  readonly acceptedAt: Date;
  readonly requestId: string;
  /** JSON, encrypted with a key for this stamp (`deriveKey`, from the key `stamp-metadata`). */
  readonly metadata?: string | undefined;
  readonly paymentClaim?: string | undefined;
  readonly sealed?: SealedRef | undefined;
  /** Another form of the token that a client was sent, base64. Only its digest is stored, so that the stamp is also found by this form. */
  readonly tokenAsSent?: string | undefined;
}

const othersMark = ':other-imprints';

/** The name for those stamps of a product whose imprint is not a SHA-256. A product's own name never contains a colon. */
export const othersOf = (product: string): string => `${product}${othersMark}`;

/**
 * The name under which a product's stamp is stored and counted, or undefined for other callers. Stamps with an imprint other than SHA-256 get
 * another name: the product's list leaves them out (S12), and with this name their number does not slow the list down.
 */
export const storedProductOf = ({ product }: Caller, { algorithm }: Imprint): string | undefined =>
  product === undefined || algorithm === 'sha256' ? product : othersOf(product);

const storedCallerOf = (caller: Caller, imprint: Imprint): Caller => ({ ...caller, product: storedProductOf(caller, imprint) });

/** Reads a stored caller. From a damaged document, it returns the parts that exist. */
const callerOf = (stored: Caller): Caller => {
  const product: unknown = stored?.product;
  const isOther = typeof product === 'string' && product.endsWith(othersMark);
  return isOther ? { ...stored, product: product.slice(0, -othersMark.length) } : stored;
};

/** A stamp as stored. `_id` is the stamp's id: a UUID version 7, so stamps sort by time (S7). */
export interface StampDocument extends Omit<StoredStamp, 'tokenId' | 'imprint' | 'proofs' | 'tokenAsSent'> {
  readonly _id: string;
  /** For a leaf, the digest is stored as bytes, to keep the document small. */
  readonly imprint: Imprint | (Omit<Imprint, 'digest'> & { readonly digest: Binary });
  readonly proofs: readonly [StoredProof, ...StoredProof[]];
  /**
   * SHA-256 of each RFC 3161 `token`, hex. It is used to find the stamp of a token that a client sends. Mock tokens contain the id of their stamp,
   * and leaves are found through their batch.
   */
  readonly tokenDigest?: string | readonly string[] | undefined;
  /** The evidence of the first proof, if this proof is the stamp's own token, or a leaf with its own evidence. */
  readonly evidence?: StoredEvidence | undefined;
}

/** The shared parts that documents refer to by id: batches, certificates, and tokens of renewals (DER). */
interface SharedProofs extends SharedParts {
  readonly renewalTokens: ReadonlyMap<string, Buffer>;
}

/** The proofs in a document, which may be damaged. */
const proofsIn = ({ proofs }: StampDocument): readonly unknown[] => (Array.isArray(proofs) ? proofs : []);

/** The ids of the batches that a document refers to. */
export const batchIdsIn = (document: StampDocument): string[] => proofsIn(document).flatMap((proof) => batchIdIn(proof) ?? []);

/** The ids of the certificate sets that a document refers to. */
export const certificateSetIdsIn = (document: StampDocument): string[] =>
  proofsIn(document).flatMap((proof) => certificateSetIdIn(proof) ?? []);

/** Reads a stored imprint. If it is missing or damaged, the result has an empty digest, which no token matches. */
function imprintOf(stored: unknown): Imprint {
  const { algorithm, digest: written } = (stored ?? {}) as Partial<StampDocument['imprint']>;
  const digest = written instanceof Binary ? bytesOf(written).toString('hex') : written;
  const isImprint = typeof digest === 'string' && algorithm !== undefined && Object.hasOwn(digestCharacters, algorithm);
  return isImprint ? { algorithm, digest } : sha256Imprint('');
}

/** Makes the document of a stamp. @param sets the certificates to store separately are added here, by id */
export function stampDocumentOf(
  { tokenId, imprint, proofs: [first, ...others], tokenAsSent, ...rest }: StoredStamp,
  sets: Map<string, Buffer>,
): StampDocument {
  const digests: string[] = [];
  const proofs: [StoredProof, ...StoredProof[]] = [storedProofOf(first, sets)];
  for (const proof of others) proofs.push(storedProofOf(proof, sets));
  for (const proof of [first, ...others]) if (proof.kind === 'token') digests.push(textDigestOf(proof.token));
  if (tokenAsSent !== undefined) digests.push(textDigestOf(tokenAsSent));
  const { algorithm, digest } = imprint;
  return {
    _id: tokenId,
    ...rest,
    caller: storedCallerOf(rest.caller, imprint),
    imprint: first.kind === 'leaf' ? { algorithm, digest: new Binary(Buffer.from(digest, 'hex')) } : imprint,
    ...(first.kind === 'token' && storedEvidenceOf(first.term)),
    proofs,
    tokenDigest: digests.length > 1 ? digests : digests[0],
  };
}

/** The parts of a stamp that a list shows. They do not include the bytes of its proofs. */
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
  'proofs.kind': 1,
  'proofs.batch': 1,
  'proofs.issuedAt': 1,
  'proofs.provider': 1,
  'proofs.isQualified': 1,
} as const;

/** Makes the summary of a stamp. @param batches the shared fields of the batches that the document may refer to, by id */
export function summaryOf(document: StampDocument, batches: ReadonlyMap<string, Found>): StampSummary {
  const { _id: tokenId, tier, caller, imprint, proofs } = document;
  const { issuedAt, provider, isQualified }: Found = { ...proofs?.[0], ...batches.get(batchIdsIn(document)[0] ?? '') };
  return {
    tokenId,
    imprint: imprintOf(imprint),
    tier,
    caller: callerOf(caller),
    issuedAt: typeof issuedAt === 'string' ? issuedAt : new Date(timeOfId(tokenId) || 0).toISOString(),
    provider: typeof provider === 'string' ? provider : '',
    isQualified: isQualified === true,
  };
}

/** Reads a stamp from its document. If the document is damaged, or its batch is damaged or missing, the stamp proves nothing (V1). */
export function stampOf(
  { _id: tokenId, imprint: stored, proofs, evidence, tokenDigest: _, ...rest }: StampDocument,
  { renewalTokens, ...shared }: SharedProofs,
): StoredStamp {
  const imprint = imprintOf(stored);
  const [first, ...others] = proofsOf(proofs, imprint, shared);
  return { tokenId, ...rest, caller: callerOf(rest.caller), imprint, proofs: [withEvidence(first), ...others] };

  function withEvidence(proof: Proof): Proof {
    if (proof.kind === 'token') return { ...proof, ...evidenceOf(evidence, renewalTokens, imprint.algorithm) };
    const own = proof.kind === 'leaf' ? ownEvidenceOf(evidence, renewalTokens, imprint.algorithm) : undefined;
    return own === undefined ? proof : ({ ...proof, own } as Proof);
  }
}
