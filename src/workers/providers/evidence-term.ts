import { type KeyType, X509Certificate } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type AlgorithmEnd, type AlgorithmPolicy, algorithmPolicy } from '../../shared/domain/algorithm-policy.ts';
import type { EvidenceTerm } from '../../shared/domain/stamp.ts';
import type { Verified } from '../../shared/rfc3161/index.ts';

/** The keys of certificates, by fingerprint. TSAs have few certificates, and each signs many tokens. */
const keys = new LRUCache<string, KeyStrength>({ max: 256 });

interface KeyStrength {
  readonly type: KeyType | undefined;
  /** Size of the RSA modulus; infinite for other kinds of keys. */
  readonly bits: number;
}

function keyOf({ fingerprint, der }: Verified['chain'][number]): KeyStrength {
  const known = keys.get(fingerprint);
  if (known) return known;
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = new X509Certificate(der).publicKey;
  const key = { type, bits: details?.modulusLength ?? Number.POSITIVE_INFINITY };
  keys.set(fingerprint, key);
  return key;
}

/** When a token's certificates expire (`endsAt`), and until when it must be renewed, also according to the algorithm policy (`renewBy`). */
export function evidenceTermOf(
  { chain, imprint }: Pick<Verified, 'chain' | 'imprint'>,
  policy: AlgorithmPolicy = algorithmPolicy,
): EvidenceTerm {
  const endsAt = Math.min(...chain.map(({ notAfter }) => notAfter.getTime()));
  const isConcerned = ({ concerns }: AlgorithmEnd): boolean => {
    if ('hash' in concerns) return concerns.hash === imprint.algorithm;
    const { key, belowBits } = concerns;
    return chain.map(keyOf).some(({ type, bits }) => type === key && (bits < belowBits || belowBits === Number.POSITIVE_INFINITY));
  };
  const ends = policy.ends.filter(isConcerned).map(({ from }) => from.getTime());
  return { endsAt: new Date(endsAt), renewBy: new Date(Math.min(endsAt, ...ends)) };
}
