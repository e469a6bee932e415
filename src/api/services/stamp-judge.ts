import type { ReasonCode } from '../../shared/domain/reasons.ts';
import { isSameImprint } from '../../shared/domain/stamp.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { Judgement, TokenJudge, Vouched } from '../../shared/trust/judge.ts';

export type StampJudgement = Vouched | { readonly ok: false; readonly code: ReasonCode };

const agrees = (vouched: Vouched, { tokenId, imprint, proofs: [{ issuedAt }] }: StoredStamp): boolean =>
  isSameImprint(vouched.imprint, imprint) &&
  vouched.issuedAt === issuedAt &&
  (vouched.tokenId === undefined || vouched.tokenId === tokenId);

/** Judges tokens and stored stamps, each time anew. A stored stamp is refused when its record does not say what its token says (V1). */
export function createStampJudge(deps: { tokenJudge: TokenJudge; isConfigured: (provider: string) => boolean; log: Logger }) {
  const { tokenJudge, isConfigured, log } = deps;

  async function judgeToken(token: string, provider?: string): Promise<Judgement> {
    const judgement = await tokenJudge.judge(token, provider);
    if (!judgement.ok && judgement.code === 'verifier_failed') log.error({ err: judgement.cause }, 'the verifier failed on a token');
    return judgement;
  }

  async function judgeStamp(stamp: StoredStamp): Promise<StampJudgement> {
    const [{ token, provider }] = stamp.proofs;
    if (token === '') return { ok: false, code: 'record_damaged' };
    const judgement = await judgeToken(token, provider);
    if (!judgement.ok) return judgement;
    return agrees(judgement, stamp) ? judgement : { ok: false, code: 'record_mismatch' };
  }

  /** Whether the refusal only means that we have no trust anchor to judge by. It then says nothing about the stamp. */
  const isUnverifiable = (judgement: StampJudgement, provider?: string): boolean =>
    !judgement.ok &&
    (judgement.code === 'trust_store_empty' || (judgement.code === 'untrusted_root' && provider !== undefined && !isConfigured(provider)));

  return { judgeToken, judgeStamp, isUnverifiable };
}

export type StampJudge = ReturnType<typeof createStampJudge>;
