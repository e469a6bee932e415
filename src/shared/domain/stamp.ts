/** A stamp binds an imprint to a time with one or more proofs. Every answer about a stamp comes from its proofs. */

/** The hash algorithms of imprints (RFC 3161 §2.4.1, S15), with the number of hexadecimal characters of a digest. */
export const digestCharacters = { sha256: 64, sha384: 96, sha512: 128 } as const;
export type ImprintAlgorithm = keyof typeof digestCharacters;
export const imprintAlgorithms = Object.keys(digestCharacters) as [ImprintAlgorithm, ...ImprintAlgorithm[]];

/** The name for people. */
export const hashNameOf = (algorithm: ImprintAlgorithm): string => algorithm.replace('sha', 'SHA-');

/** The stamped digest and its algorithm. The digest is lower-case hexadecimal, so that JSON can carry it unchanged. */
export interface Imprint {
  readonly algorithm: ImprintAlgorithm;
  readonly digest: string;
}

/** The imprint of a SHA-256, the only kind in the JSON interface (S15). */
export const sha256Imprint = (digest: string): Imprint => ({ algorithm: 'sha256', digest });

/** The imprint of a digest whose length shows its algorithm (V7); undefined for any other text. */
export function imprintOfDigest(digest: string): Imprint | undefined {
  const algorithm = imprintAlgorithms.find((one) => digestCharacters[one] === digest.length);
  return algorithm && { algorithm, digest };
}

export const isSameImprint = (a: Imprint, b: Imprint): boolean => a.algorithm === b.algorithm && a.digest === b.digest;

interface ProofOfTime {
  /** Name of the provider in the configuration when the proof was made. */
  readonly provider: string;
  /** Whether that provider was configured as qualified. For readers it is only a claim: verification checks it again. */
  readonly isQualified: boolean;
  /** genTime of a time-stamp token, otherwise the worker's clock; RFC 3339 in UTC. */
  readonly issuedAt: string;
  /** The `token` in answers: base64; empty if the record of the proof is damaged. */
  readonly token: string;
}

/** How long a token is valid by itself. After that an evidence record needs another token over it (RFC 4998 §5.2). */
export interface EvidenceTerm {
  /** End of the first certificate in its chain to expire. */
  readonly endsAt: Date;
  /** The same, or earlier if one of its algorithms becomes unreliable earlier. */
  readonly renewBy: Date;
}

/** A later token that covers an earlier proof (RFC 4998 §5.2). One token renews many proofs: the path leads to the root that was signed. */
export interface Renewal {
  readonly renewalId: string;
  /** Blind, then siblings; each as long as a digest of the root's algorithm. */
  readonly path: readonly Buffer[];
  /** DER TimeStampToken; undefined if its record is damaged. */
  readonly tst: Buffer | undefined;
  /** The document's digest in another algorithm, if the token covers it with everything before: a hash-tree renewal. */
  readonly newImprint?: Imprint | undefined;
}

/** A TSA's signature and its renewals. */
interface Renewable {
  /** The term of the last token; undefined: not read yet, or expired. */
  readonly term?: EvidenceTerm | undefined;
  /** In order of time. */
  readonly renewals?: readonly Renewal[] | undefined;
}

/** A TSA signed this imprint directly. */
export interface TokenProof extends ProofOfTime, Renewable {
  readonly kind: 'token';
  /** DER of the TimeStampReq and the TimeStampResp, byte for byte. */
  readonly tsq: Buffer;
  readonly tsr: Buffer;
}

/** One answer of a TSA for many imprints: the TSA signed the root of a hash tree over them (S14). Stored once for all its leaves. */
export interface Batch extends Renewable {
  /** UUID version 7. */
  readonly batchId: string;
  readonly root: Imprint;
  /** Number of imprints in the tree. */
  readonly leaves: number;
  readonly provider: string;
  readonly isQualified: boolean;
  /** genTime, RFC 3339 in UTC. */
  readonly issuedAt: string;
  /** DER of the TimeStampReq and the TimeStampResp for the root, byte for byte. */
  readonly tsq: Buffer;
  readonly tsr: Buffer;
  /** The TimeStampToken in `tsr`, DER. */
  readonly tst: Buffer;
  /** The nodes at the end of the paths of all its leaves (`crownOf`). */
  readonly crown: Buffer;
}

/** The evidence of a leaf apart from its batch, after a renewal covered a digest of its document that the batch does not have (S17). */
export interface OwnEvidence extends Renewable {
  /** The number of batch renewals before its own. Its record does not contain later batch renewals. */
  readonly batchRenewals: number;
}

/**
 * A TSA signed the root of a batch, and the path leads to that root. `token` is an EvidenceRecord (RFC 4998), composed on demand and not stored.
 */
export interface LeafProof extends ProofOfTime {
  readonly kind: 'leaf';
  readonly batch: Batch;
  /** The position of the leaf in the tree, from 0. */
  readonly index: number;
  /** The blind of this leaf, then the sibling on each level; each as long as a digest of the root's algorithm. */
  readonly path: readonly Buffer[];
  /** Undefined: the renewals of its batch renew it. */
  readonly own?: OwnEvidence | undefined;
}

/** The mock provider's statement, which proves nothing to third parties. */
export interface MockProof extends ProofOfTime {
  readonly kind: 'mock';
}

export type Proof = TokenProof | LeafProof | MockProof;

export interface Stamp {
  /** UUID version 7. */
  readonly tokenId: string;
  readonly imprint: Imprint;
  readonly proofs: readonly [Proof, ...Proof[]];
}
