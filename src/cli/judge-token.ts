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

/**
 * Judges a token at its own genTime (V5), or an evidence record, by the anchors of `trust`. Never rejects, whatever the bytes.
 *
 * @param imprints of the file, in the algorithms that a record asks for; a token is compared with it by the caller
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
  // No anchor can help a signer whom even trust in himself does not.
  const reason = verdictOf(own.code) === 'not_valid' ? own.code : result.code;
  return { verdict: verdictOf(reason), reason, stated: undefined };
}

export { imprintOf } from '../shared/domain/told-token.ts';
