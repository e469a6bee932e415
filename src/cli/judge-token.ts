import { looksLikeMockToken } from '../shared/domain/mock-token.ts';
import type { ReasonCode } from '../shared/domain/reasons.ts';
import type { Imprint } from '../shared/domain/stamp.ts';
import { isRecord, type TrustStore, type Verified, verifyRecord, verifyToken } from '../shared/rfc3161/index.ts';
import { ownTrustsOf } from './token-trust.ts';

/** `not_proved`: nothing is wrong with it, but nobody whom its reader trusts vouches for it. */
export type Verdict = 'valid' | 'not_valid' | 'not_proved';

/** What this machine alone found about a token. */
export interface Judgement {
  readonly verdict: Verdict;
  /** Undefined of what is valid. */
  readonly reason: ReasonCode | undefined;
  /**
   * What the token says, its signature and chain in order. Where the verdict is `not_proved` the chain ends with the last certificate
   * that came along, which is where its reader's trust would have to begin.
   */
  readonly stated: Verified | undefined;
}

/** Refusals that say only that the reader's anchors, or hashes, do not reach the token: with others it may be valid. */
const outOfReach: readonly ReasonCode[] = [
  'untrusted_root',
  'trust_store_empty',
  'signer_certificate_missing',
  'evidence_new_hash_needed',
  'verifier_failed',
];

/**
 * Judges a token at its own genTime (V5), or an evidence record, by the anchors of `trust`. Never throws, whatever the bytes.
 *
 * @param imprints of the file, in the algorithms that a record asks for; a token is compared with it by the caller
 */
export function judgeToken(token: Buffer, trust: TrustStore, nowMs: number, imprints: readonly Imprint[] = []): Judgement {
  if (looksLikeMockToken(token)) return { verdict: 'not_proved', reason: 'mock_not_rfc3161', stated: undefined };
  const digests = imprints.map(({ algorithm, digest }) => ({ algorithm, digest: Buffer.from(digest, 'hex') }));
  const verifyBy = (trust: TrustStore) =>
    isRecord(token) ? verifyRecord(token, { trust, nowMs, digests }) : verifyToken(token, { trust, nowMs });
  const result = verifyBy(trust);
  if (result.ok) return { verdict: 'valid', reason: undefined, stated: result };
  const refused = { verdict: 'not_valid', reason: result.code, stated: undefined } as const;
  if (!outOfReach.includes(result.code)) return refused;
  const [byItsChain, byItsSigner] = ownTrustsOf(token, nowMs);
  const chained = verifyBy(byItsChain);
  const own = chained.ok ? chained : verifyBy(byItsSigner);
  if (own.ok) return { verdict: 'not_proved', reason: result.code, stated: own };
  // No anchor can help a signer whom even trust in himself does not.
  return outOfReach.includes(own.code) ? { ...refused, verdict: 'not_proved' } : { ...refused, reason: own.code };
}

/** What a token is for. */
export const imprintOf = ({ imprint: { algorithm, digest } }: Verified): Imprint => ({ algorithm, digest: digest.toString('hex') });
