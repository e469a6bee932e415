import type { KeyType } from 'node:crypto';
import type { ImprintAlgorithm } from './stamp.ts';

/** The date from which an algorithm is not reliable any more. */
export interface AlgorithmEnd {
  /** A key type in the chain below a size, or the hash of the imprint. */
  readonly concerns: { readonly key: KeyType; readonly belowBits: number } | { readonly hash: ImprintAlgorithm };
  /** The first day on which it is not reliable. */
  readonly from: Date;
  readonly source: string;
}

export interface AlgorithmPolicy {
  /** When the table last changed: evidence that an earlier table judged is judged again. */
  readonly revision: string;
  readonly ends: readonly AlgorithmEnd[];
}

const etsi = 'ETSI TS 119 312 V1.5.1, after SOG-IS Agreed Cryptographic Mechanisms: legacy until the end of 2028';

/**
 * Algorithms that the verifier accepts and that have an end date. SHA-256, SHA-384, SHA-512, the curves P-256, P-384 and P-521, and RSASSA-PSS with
 * at least 3 000 bits have no end date there. A plain RSA key counts as RSASSA-PKCS1-v1_5, whatever its size.
 */
export const algorithmPolicy: AlgorithmPolicy = {
  revision: '2026-11-22',
  ends: [
    { concerns: { key: 'rsa', belowBits: Number.POSITIVE_INFINITY }, from: new Date('2029-01-01T00:00:00Z'), source: etsi },
    { concerns: { key: 'rsa-pss', belowBits: 3_000 }, from: new Date('2029-01-01T00:00:00Z'), source: etsi },
  ],
};

/** Whether a hash algorithm is still reliable. @param nowMs milliseconds since the epoch */
export const isHashFit = (hash: ImprintAlgorithm, nowMs: number, { ends }: AlgorithmPolicy = algorithmPolicy): boolean =>
  !ends.some(({ concerns, from }) => 'hash' in concerns && concerns.hash === hash && from.getTime() <= nowMs);
