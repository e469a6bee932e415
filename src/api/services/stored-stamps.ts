import type { ReasonCode } from '../../shared/domain/reasons.ts';
import { isSameImprint } from '../../shared/domain/stamp.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { Judgement, TokenJudge, Vouched } from '../../shared/trust/judge.ts';

/** What verifying a stored token for one answer gave (V1, V9). */
export type StoredVerdict =
  | { readonly kind: 'proved'; readonly vouched: Vouched }
  | { readonly kind: 'refused'; readonly code: ReasonCode }
  /** There is nothing to verify against: that says nothing about the stamp. */
  | { readonly kind: 'unverifiable'; readonly code: ReasonCode };

/** Judges stored stamps: what they say of themselves decides nothing. */
export interface StoredStampJudge {
  judgeToken(token: string, provider?: string): Promise<Judgement>;
  judgeStamp(stamp: StoredStamp): Promise<StoredVerdict>;
}

const agrees = (vouched: Vouched, { tokenId, imprint, proofs: [{ issuedAt }] }: StoredStamp): boolean =>
  isSameImprint(vouched.imprint, imprint) &&
  vouched.issuedAt === issuedAt &&
  (vouched.tokenId === undefined || vouched.tokenId === tokenId);

export function createStoredStampJudge({ tokenJudge, log }: { tokenJudge: TokenJudge; log: Logger }): StoredStampJudge {
  async function judgeToken(token: string, provider?: string): Promise<Judgement> {
    const judgement = await tokenJudge.judge(token, provider);
    if (!judgement.ok && judgement.code === 'verifier_failed') log.error({ err: judgement.cause }, 'the verifier failed on a token');
    return judgement;
  }

  return {
    judgeToken,
    judgeStamp: async (stamp) => {
      const [{ token, provider }] = stamp.proofs;
      const judgement = await judgeToken(token, provider);
      if (judgement.ok) {
        return agrees(judgement, stamp) ? { kind: 'proved', vouched: judgement } : { kind: 'refused', code: 'record_mismatch' };
      }
      return { kind: judgement.code === 'trust_store_empty' ? 'unverifiable' : 'refused', code: judgement.code };
    },
  };
}
