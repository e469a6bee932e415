import { hash } from 'node:crypto';
import { serialize } from 'node:v8';
import { LRUCache } from 'lru-cache';
import { verifyPath } from '../../../shared/domain/addresses.ts';
import { reasonOf, verdictOf } from '../../../shared/domain/reasons.ts';
import type { StoredStamp } from '../../../shared/store/stamps.ts';
import type { StampMark, StampVerdict } from '../../pages/stamp-model.ts';
import type { StampJudge, StampJudgement } from '../stamp-judge.ts';

/** What is recorded of a stamp beside the stamp itself. */
export interface StampClaim {
  readonly tokenId: string;
  readonly hash: string;
  readonly stampedAt: string;
  readonly provider: string;
}

/**
 * What may be said of a stamp in a workflow's record (V9). Its token was verified for this very answer, or some minutes ago where claim and
 * stamp are the same octet for octet: the print edition of a workflow shows a thousand, to anybody.
 */
export type MarkStamp = (claim: StampClaim, stamp: StoredStamp | null) => Promise<StampMark>;

export function createStampMarks(stampJudge: Pick<StampJudge, 'judgeStamp'>): MarkStamp {
  async function judge(claim: StampClaim, stamp: StoredStamp | null): Promise<StampJudgement> {
    if (!stamp) return { ok: false, code: 'unknown_token_id' };
    const judgement = await stampJudge.judgeStamp(stamp);
    if (!judgement.ok) return judgement;
    if (judgement.imprint.algorithm !== 'sha256' || judgement.imprint.digest !== claim.hash) return { ok: false, code: 'imprint_mismatch' };
    const isAsRecorded = judgement.issuedAt === claim.stampedAt && stamp.proofs[0].provider === claim.provider;
    return isAsRecorded ? judgement : { ok: false, code: 'record_mismatch' };
  }

  const known = new LRUCache<string, StampMark>({ max: 10_000, ttl: 300_000 });

  return async (claim: StampClaim, stamp: StoredStamp | null): Promise<StampMark> => {
    if (!stamp) return mark(claim, stamp);
    const content = hash('sha256', serialize([claim, stamp]), 'base64url');
    const before = known.get(content);
    if (before) return before;
    const found = await mark(claim, stamp);
    known.set(content, found);
    return found;
  };

  async function mark(claim: StampClaim, stamp: StoredStamp | null): Promise<StampMark> {
    const judgement = await judge(claim, stamp);
    const { tokenId, stampedAt } = claim;
    const shown = { tokenId, stampedAt, verifyUrl: verifyPath(tokenId) };
    if (judgement.ok) {
      const { isProviderKnown, isQualified, verified } = judgement;
      // The recorded name of a provider that is not configured is not shown: the certificate in the token says who signed.
      const provider = isProviderKnown || !verified ? claim.provider : verified.signer.subject;
      return { ...shown, provider, isQualified, verdict: { kind: 'proved' } };
    }
    const reason = reasonOf(judgement.code);
    const verdict: StampVerdict = verdictOf(judgement.code) === 'not_proved' ? { kind: 'not_proved' } : { kind: 'refused', reason };
    return { ...shown, provider: claim.provider, isQualified: false, verdict };
  }
}
