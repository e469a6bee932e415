import type { KeyType } from 'node:crypto';
import type { ImprintAlgorithm } from './stamp.ts';

/** An algorithm, and the date from which it is not reliable any more. */
export interface AlgorithmEnd {
  /** Either keys of this type in the certificate chain that have fewer bits than `belowBits`, or imprints with this hash algorithm. */
  readonly concerns: { readonly key: KeyType; readonly belowBits: number } | { readonly hash: ImprintAlgorithm };
  /** The first day on which the algorithm is not reliable any more. */
  readonly from: Date;
  readonly source: string;
}

export interface AlgorithmPolicy {
  /** The date of the last change. Evidence that was judged by an earlier revision is judged again. */
  readonly revision: string;
  readonly ends: readonly AlgorithmEnd[];
}

const etsi = 'ETSI TS 119 312 V1.5.1, after SOG-IS Agreed Cryptographic Mechanisms: legacy until the end of 2028';

/**
 * Algorithms that the verifier accepts and that have an end date. The source has no end date for SHA-256, SHA-384, SHA-512, the curves P-256, P-384
 * and P-521, and RSASSA-PSS with at least 3 000 bits. A plain RSA key of any size counts as RSASSA-PKCS1-v1_5.
 */
export const algorithmPolicy: AlgorithmPolicy = {
  revision: '2026-11-22',
  ends: [
    { concerns: { key: 'rsa', belowBits: Number.POSITIVE_INFINITY }, from: new Date('2029-01-01T00:00:00Z'), source: etsi },
    { concerns: { key: 'rsa-pss', belowBits: 3_000 }, from: new Date('2029-01-01T00:00:00Z'), source: etsi },
  ],
};

/** Returns true if a hash algorithm is still reliable. @param nowMs milliseconds since the epoch */
export const isHashFit = (hash: ImprintAlgorithm, nowMs: number, { ends }: AlgorithmPolicy = algorithmPolicy): boolean =>
  !ends.some(({ concerns, from }) => 'hash' in concerns && concerns.hash === hash && from.getTime() <= nowMs);
