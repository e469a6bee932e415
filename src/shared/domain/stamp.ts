/** A stamp binds an imprint to a time by one proof or several. Whatever the service answers about a stamp is taken from its proofs. */

/** The hash algorithms of imprints (RFC 3161 §2.4.1, S15), with the characters that a digest of each has as hexadecimal text. */
export const digestCharacters = { sha256: 64, sha384: 96, sha512: 128 } as const;
export type ImprintAlgorithm = keyof typeof digestCharacters;
export const imprintAlgorithms = Object.keys(digestCharacters) as [ImprintAlgorithm, ...ImprintAlgorithm[]];

/** As people write it. */
export const hashNameOf = (algorithm: ImprintAlgorithm): string => algorithm.replace('sha', 'SHA-');

/** What is stamped: a digest and how it was made. The digest is lower-case hexadecimal, so that it travels through JSON as it is. */
export interface Imprint {
  readonly algorithm: ImprintAlgorithm;
  readonly digest: string;
}

/** The imprint that a SHA-256 stands for: the only kind that the JSON interface takes (S15). */
export const sha256Imprint = (digest: string): Imprint => ({ algorithm: 'sha256', digest });

/** The imprint that a digest stands for whose length tells its algorithm (V7); undefined for any other text. */
export function imprintOfDigest(digest: string): Imprint | undefined {
  const algorithm = imprintAlgorithms.find((one) => digestCharacters[one] === digest.length);
  return algorithm && { algorithm, digest };
}

export const isSameImprint = (a: Imprint, b: Imprint): boolean => a.algorithm === b.algorithm && a.digest === b.digest;

interface ProofOfTime {
  /** Name of the provider, as it was configured when the proof was made. */
  readonly provider: string;
  /** Whether that provider was configured as qualified. For a reader it is a claim: verification judges anew (V1). */
  readonly isQualified: boolean;
  /** genTime of a time-stamp token, else the worker's clock (S8); RFC 3339 in UTC. */
  readonly issuedAt: string;
  /** What clients get as `token`: base64; empty where the record of the proof is damaged. */
  readonly token: string;
}

/** How long a token holds by itself; after that an evidence record needs another one over it (RFC 4998 §5.2). */
export interface EvidenceTerm {
  /** The first certificate of its chain ends. */
  readonly endsAt: Date;
  /** That, or earlier: one of its algorithms is not to be relied on from then on. */
  readonly renewBy: Date;
}

/** A later token that covers what proved a time before (RFC 4998 §5.2). It is one for many: the path leads to the root that was signed. */
export interface Renewal {
  readonly renewalId: string;
  /** Blind, then siblings; all as long as a digest of the root's algorithm. */
  readonly path: readonly Buffer[];
  /** DER TimeStampToken; undefined where the record of it is damaged. */
  readonly tst: Buffer | undefined;
  /** The document's digest of another algorithm, where the token covers that with all before: a hash-tree renewal (S17). */
  readonly newImprint?: Imprint | undefined;
}

/** What a TSA signed, and what keeps it alive. */
interface Renewable {
  /** Of the last token; undefined: not looked at yet, or it has ended. */
  readonly term?: EvidenceTerm | undefined;
  /** In the order of time. */
  readonly renewals?: readonly Renewal[] | undefined;
}

/** A TSA signed this very imprint. */
export interface TokenProof extends ProofOfTime, Renewable {
  readonly kind: 'token';
  /** DER of the TimeStampReq and the TimeStampResp, byte for byte. */
  readonly tsq: Buffer;
  readonly tsr: Buffer;
}

/** One answer of a TSA for many imprints: it signed the root of a hash tree over them (S14). Stored once for all its leaves. */
export interface Batch extends Renewable {
  /** UUID version 7. */
  readonly batchId: string;
  readonly root: Imprint;
  /** How many imprints the tree is over. */
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
  /** The nodes that the paths of all its leaves end with (`crownOf`). */
  readonly crown: Buffer;
}

/** What a leaf has beside its batch, once a digest of its document is covered that its batch knows nothing of (S17). */
export interface OwnEvidence extends Renewable {
  /** How many renewals of the batch come before its own; those after them are not of its record. */
  readonly batchRenewals: number;
}

/** A TSA signed the root of a batch, and the path leads there. `token` is an EvidenceRecord (RFC 4998): it is composed, not stored. */
export interface LeafProof extends ProofOfTime {
  readonly kind: 'leaf';
  readonly batch: Batch;
  /** Which leaf of the tree it is, from 0. */
  readonly index: number;
  /** The blind of this leaf, then the sibling on each level; all as long as a digest of the root's algorithm. */
  readonly path: readonly Buffer[];
  /** Undefined: what renews its batch renews it. */
  readonly own?: OwnEvidence | undefined;
}

/** The mock provider's word, which proves nothing to a stranger. */
export interface MockProof extends ProofOfTime {
  readonly kind: 'mock';
}

export type Proof = TokenProof | LeafProof | MockProof;

export interface Stamp {
  /** UUID version 7 (S7). */
  readonly tokenId: string;
  readonly imprint: Imprint;
  readonly proofs: readonly [Proof, ...Proof[]];
}
