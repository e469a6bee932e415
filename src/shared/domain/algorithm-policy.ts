import type { KeyType } from 'node:crypto';
import type { ImprintAlgorithm } from './stamp.ts';

/** From when an algorithm must not be relied on any more. */
export interface AlgorithmEnd {
  /** Of a key of the chain, by its type and below a size; or the hash of the imprint. */
  readonly concerns: { readonly key: KeyType; readonly belowBits: number } | { readonly hash: ImprintAlgorithm };
  /** The first day on which it is not fit. */
  readonly from: Date;
  readonly source: string;
}

export interface AlgorithmPolicy {
  /** When the table was last changed: evidence that was looked at by another one is looked at again. */
  readonly revision: string;
  readonly ends: readonly AlgorithmEnd[];
}

const etsi = 'ETSI TS 119 312 V1.5.1, after SOG-IS Agreed Cryptographic Mechanisms: legacy until the end of 2028';

/**
 * Algorithms that the verifier takes, and that end. SHA-256, SHA-384, SHA-512, the curves P-256, P-384 and P-521 and RSASSA-PSS with 3 000 bits or more
 * have no end there. A plain RSA key is counted as one of RSASSA-PKCS1-v1_5, whatever its size.
 */
export const algorithmPolicy: AlgorithmPolicy = {
  revision: '2026-11-22',
  ends: [
    { concerns: { key: 'rsa', belowBits: Number.POSITIVE_INFINITY }, from: new Date('2029-01-01T00:00:00Z'), source: etsi },
    { concerns: { key: 'rsa-pss', belowBits: 3_000 }, from: new Date('2029-01-01T00:00:00Z'), source: etsi },
  ],
};

/** Whether a hash algorithm may still be relied on. @param nowMs milliseconds since the epoch */
export const isHashFit = (hash: ImprintAlgorithm, nowMs: number, { ends }: AlgorithmPolicy = algorithmPolicy): boolean =>
  !ends.some(({ concerns, from }) => 'hash' in concerns && concerns.hash === hash && from.getTime() <= nowMs);
