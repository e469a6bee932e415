import { hash } from 'node:crypto';
import type { Qualification } from './qualification.ts';

/** A stamp binds an imprint to a time with one or more proofs. Every answer about a stamp comes from its proofs. */

/** The hash algorithms of imprints (RFC 3161 §2.4.1, S15), with the number of hexadecimal characters of a digest. */
export const digestCharacters = { sha256: 64, sha384: 96, sha512: 128 } as const;
export type ImprintAlgorithm = keyof typeof digestCharacters;
export const imprintAlgorithms = Object.keys(digestCharacters) as [ImprintAlgorithm, ...ImprintAlgorithm[]];

/** The name of a hash algorithm for people, such as SHA-256. */
export const hashNameOf = (algorithm: ImprintAlgorithm): string => algorithm.replace('sha', 'SHA-');

/** The stamped digest and its algorithm. The digest is lower-case hexadecimal, so that JSON can carry it unchanged. */
export interface Imprint {
  readonly algorithm: ImprintAlgorithm;
  readonly digest: string;
}

/** The imprint of a SHA-256, the only kind in the JSON interface (S15). */
export const sha256Imprint = (digest: string): Imprint => ({ algorithm: 'sha256', digest });

/** Returns the imprint of a digest: its length shows its algorithm (V7). Returns undefined if no algorithm has digests of this length. */
export function imprintOfDigest(digest: string): Imprint | undefined {
  const algorithm = imprintAlgorithms.find((one) => digestCharacters[one] === digest.length);
  return algorithm && { algorithm, digest };
}

export const isSameImprint = (a: Imprint, b: Imprint): boolean => a.algorithm === b.algorithm && a.digest === b.digest;

interface ProofOfTime {
  /** Only of a proof that was just made: verification judges it again, so it is not stored. */
  readonly qualification?: Qualification | undefined;
  /** Name of the provider in the configuration when the proof was made. */
  readonly provider: string;
  /** Whether it was qualified when it was made. This is only a record: verification decides it again. */
  readonly isQualified: boolean;
  /** genTime of the time-stamp token, or the time of the worker's clock for a mock token. RFC 3339 in UTC. */
  readonly issuedAt: string;
  /** The `token` in answers, base64. Empty if the stored proof is damaged. */
  readonly token: string;
}

/** How long a token is valid by itself. Before its end, another token must cover it in an evidence record (RFC 4998 §5.2). */
export interface EvidenceTerm {
  /** When the first certificate in the chain of the token expires. */
  readonly endsAt: Date;
  /** `endsAt`, or an earlier date if one of the token's algorithms becomes unreliable then. */
  readonly renewBy: Date;
}

/** A later token that covers an earlier proof (RFC 4998 §5.2). One token renews many proofs: it covers the root to which `path` leads. */
export interface Renewal {
  readonly renewalId: string;
  /** The blind, then the siblings. Each is as long as a digest of the root's algorithm. */
  readonly path: readonly Buffer[];
  /** The TimeStampToken, DER. Undefined if the stored renewal is damaged. */
  readonly tst: Buffer | undefined;
  /** Only for a hash-tree renewal: the document's digest in another algorithm. The token covers it together with all earlier evidence. */
  readonly newImprint?: Imprint | undefined;
}

/** The members of evidence that can be renewed. */
interface Renewable {
  /** The term of the last token. Undefined: it was not read yet, or it has expired. */
  readonly term?: EvidenceTerm | undefined;
  /** The renewals in order of time. */
  readonly renewals?: readonly Renewal[] | undefined;
}

/** The proof of a stamp whose imprint a TSA signed directly. */
export interface TokenProof extends ProofOfTime, Renewable {
  readonly kind: 'token';
  /** The TimeStampReq, DER, exactly as sent. */
  readonly tsq: Buffer;
  /** The TimeStampResp, DER, exactly as received. */
  readonly tsr: Buffer;
}

/** One answer of a TSA for many imprints: the TSA signed the root of a hash tree over them (S14). A batch is stored once for all its leaves. */
export interface Batch extends Renewable {
  /** UUID version 7. */
  readonly batchId: string;
  readonly root: Imprint;
  /** Number of imprints in the tree. */
  readonly leaves: number;
  readonly provider: string;
  readonly isQualified: boolean;
  /** Only of a batch that was just made. It is not stored. */
  readonly qualification?: Qualification | undefined;
  /** genTime, RFC 3339 in UTC. */
  readonly issuedAt: string;
  /** The TimeStampReq for the root, DER, exactly as sent. */
  readonly tsq: Buffer;
  /** The TimeStampResp for the root, DER, exactly as received. */
  readonly tsr: Buffer;
  /** The TimeStampToken in `tsr`, DER. */
  readonly tst: Buffer;
  /** The upper nodes of the hash tree: all paths of its leaves end with some of them (`crownOf`). */
  readonly crown: Buffer;
}

/** The own renewals of one leaf. They begin when a renewal covers a digest of its document in another algorithm, because the batch lacks it (S17). */
export interface OwnEvidence extends Renewable {
  /** The number of renewals of the batch before the leaf's own. The leaf's record does not contain later renewals of the batch. */
  readonly batchRenewals: number;
}

/**
 * The proof of a stamp in a batch: a TSA signed the root of the batch, and `path` leads to this root. `token` is an EvidenceRecord (RFC 4998). It is
 * not stored, but composed when it is needed.
 */
export interface LeafProof extends ProofOfTime {
  readonly kind: 'leaf';
  readonly batch: Batch;
  /** The position of the leaf in the tree, from 0. */
  readonly index: number;
  /** The blind of this leaf, then the siblings up to the root. Each is as long as a digest of the root's algorithm. */
  readonly path: readonly Buffer[];
  /** Undefined: only the renewals of the batch renew this leaf. */
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

/** Returns the time at the start of a stamp id (S7, RFC 9562 §5.7), in milliseconds since the Unix epoch. */
export const timeOfId = (tokenId: string): number => Number.parseInt(tokenId.slice(0, 8) + tokenId.slice(9, 13), 16);

/** Returns a text that sorts before every id of `timeMs` or later. */
export function firstIdAt(timeMs: number): string {
  const hex = Math.max(0, Math.floor(timeMs)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

export const mostIdsInSeries = 4096;

/**
 * Returns the id at a place of a series, the same on each call. It has the time of the series, then the place as a counter (RFC 9562 §6.2), then
 * bits that nobody can compute without the series id. So the ids sort by their place.
 *
 * @throws RangeError for a place beyond `mostIdsInSeries`
 */
export function idInSeries(seriesId: string, index: number): string {
  if (index < 0 || index >= mostIdsInSeries) throw new RangeError(`a series has no place ${index}`);
  const digest = hash('sha256', `${seriesId}/${index}`);
  const variant = ((Number.parseInt(digest.slice(0, 1), 16) & 0x3) | 0x8).toString(16);
  const counter = index.toString(16).padStart(3, '0');
  return `${seriesId.slice(0, 13)}-7${counter}-${variant}${digest.slice(1, 4)}-${digest.slice(4, 16)}`;
}

/** The tiers of a stamp. `basic` keeps the hash, `plus` the hash and a verify address, `sealed` also the content. */
export const stampTiers = ['basic', 'plus', 'sealed'] as const;
export type StampTier = (typeof stampTiers)[number];

/** The tiers of a workflow (W1). `verified` requires a verified e-mail address, `qualified` also qualified stamps. */
export const workflowTiers = ['standard', 'verified', 'qualified'] as const;
export type WorkflowTier = (typeof workflowTiers)[number];

/** Returns true if outputs may be stamped only after the client has verified the e-mail address (W2). */
export const needsVerifiedEmail = (tier: WorkflowTier): boolean => tier !== 'standard';

/** Returns true if every stamp must come from a qualified provider (W2). */
export const needsQualifiedProvider = (tier: WorkflowTier): boolean => tier === 'qualified';

/** The interfaces through which a stamp request can come. */
export const callerKinds = ['internal', 'agent', 'workflow', 'mcp', 'tsa'] as const;
export type CallerKind = (typeof callerKinds)[number];

/** The caller that asked for a stamp. Statistics count stamps by `kind`; the list of stamps shows those of one `product` (S12). */
export interface Caller {
  readonly kind: CallerKind;
  readonly product?: string | undefined;
}

/** Faults in a client's TimeStampReq, named as in PKIFailureInfo (RFC 3161 §2.4.2). Workers send them in replies. */
export { REQUEST_FAULTS, type RequestFault } from '../rfc3161/index.ts';
