import { looksLikeMockToken } from '../shared/domain/mock-token.ts';
import { type ReasonCode, type Verdict, verdictOf } from '../shared/domain/reasons.ts';
import type { Imprint } from '../shared/domain/stamp.ts';
import {
  isEvidenceRecord,
  type TrustStore,
  type Verified,
  verifyByItself,
  verifyEvidenceRecord,
  verifyToken,
} from '../shared/rfc3161/index.ts';

/** The judgement of a token on this machine. */
export interface Judgement {
  readonly verdict: Verdict;
  /** Undefined if the token is valid. */
  readonly reason: ReasonCode | undefined;
  /**
   * The contents of the token, if its signature and chain are correct. If the verdict is `not_proved`, the chain ends with the last known
   * certificate, which the user would have to trust.
   */
  readonly stated: Verified | undefined;
}

/**
 * Judges a token at its own genTime (V5), or an evidence record, with the anchors of `trust`. It returns a judgement for any bytes and never rejects.
 *
 * @param imprints imprints of the file in the algorithms that an evidence record needs. They are not compared with a token; the caller does that
 */
export async function judgeToken(token: Buffer, trust: TrustStore, nowMs: number, imprints: readonly Imprint[] = []): Promise<Judgement> {
  if (looksLikeMockToken(token)) return { verdict: 'not_proved', reason: 'mock_not_rfc3161', stated: undefined };
  const digests = imprints.map(({ algorithm, digest }) => ({ algorithm, digest: Buffer.from(digest, 'hex') }));
  const verifyBy = (trust: TrustStore) =>
    isEvidenceRecord(token) ? verifyEvidenceRecord(token, { trust, nowMs, digests }) : verifyToken(token, { trust, nowMs });
  const result = await verifyBy(trust);
  if (result.ok) return { verdict: 'valid', reason: undefined, stated: result };
  if (verdictOf(result.code) === 'not_valid') return { verdict: 'not_valid', reason: result.code, stated: undefined };
  const own = await verifyByItself(token, { nowMs, crls: trust.crls }, verifyBy);
  if (own.ok) return { verdict: 'not_proved', reason: result.code, stated: own };
  // If the token is not valid even when its own signer is trusted, no trust anchor can make it valid.
  const reason = verdictOf(own.code) === 'not_valid' ? own.code : result.code;
  return { verdict: verdictOf(reason), reason, stated: undefined };
}

export { imprintOf } from '../shared/domain/told-token.ts';
