import { hash } from 'node:crypto';
import { serialize } from 'node:v8';
import { LRUCache } from 'lru-cache';
import { verifyPath } from '../../shared/domain/addresses.ts';
import { isQualified } from '../../shared/domain/qualification.ts';
import { reasonOf, verdictOf } from '../../shared/domain/reasons.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import type { StampTools } from '../stamps/index.ts';
import type { StampJudge, StampJudgement, StampMark, StampVerdict } from '../verification/index.ts';
import type { ChainProver } from './chain-proof.ts';

/** The tools of the operations on workflows: those of stamps, and what is remembered about workflows. */
export interface WorkflowTools extends StampTools {
  readonly stampJudge: StampJudge;
  /** Whether mail can be sent. False only if a mail server is certainly not configured. */
  readonly canSendMail: () => Promise<boolean>;
  /** Whether the mock provider is the only one. */
  readonly makesTestStamps: boolean;
  /**
   * Whether a qualified stamp may be made now: the settings allow it, and by its last token a provider of some worker may be qualified. True also for
   * the mock provider alone, so that the tier can be tried (W2), and while no worker says anything.
   */
  readonly servesQualified: () => Promise<boolean>;
  /** Makes a path absolute if `PUBLIC_BASE_URL` is set (W13). */
  readonly addressOf: (path: string) => string;
  /** The chains that this process has recomputed. */
  readonly chains: ChainProver;
  /** Verifies the stamp of an output. Proved marks are remembered. */
  readonly markOutput: MarkStamp;
}

/** The facts about a stamp that are recorded in the workflow, outside the stamp. */
interface StampClaim {
  readonly tokenId: string;
  readonly hash: string;
  readonly stampedAt: string;
  readonly provider: string;
}

/** Verifies the token of a stamp in a workflow's record for this answer, and returns the facts that a page may state (V9). */
export async function markStamp(stampJudge: StampJudge, claim: StampClaim, stamp: StoredStamp | null): Promise<StampMark> {
  const judgement = await judgeClaim(stampJudge, claim, stamp);
  const { tokenId, stampedAt } = claim;
  const shown = { tokenId, stampedAt, verifyUrl: verifyPath(tokenId) };
  if (judgement.ok) {
    const { isProviderKnown, qualification, verified } = judgement;
    // If the provider is not configured, its recorded name is not proved, so the name in the signer's certificate is shown.
    const provider = isProviderKnown || !verified ? claim.provider : verified.signer.subject;
    return { ...shown, provider, isQualified: isQualified(qualification), qualification, verdict: { kind: 'proved' } };
  }
  const reason = reasonOf(judgement.code);
  const verdict: StampVerdict = verdictOf(judgement.code) === 'not_proved' ? { kind: 'not_proved' } : { kind: 'refused', reason };
  return { ...shown, provider: claim.provider, isQualified: false, qualification: null, verdict };
}

async function judgeClaim(stampJudge: StampJudge, claim: StampClaim, stamp: StoredStamp | null): Promise<StampJudgement> {
  if (!stamp) return { ok: false, code: 'unknown_token_id' };
  const judgement = await stampJudge.judgeStamp(stamp);
  if (!judgement.ok) return judgement;
  if (judgement.imprint.algorithm !== 'sha256' || judgement.imprint.digest !== claim.hash) return { ok: false, code: 'imprint_mismatch' };
  const isAsRecorded = judgement.issuedAt === claim.stampedAt && stamp.proofs[0].provider === claim.provider;
  return isAsRecorded ? judgement : { ok: false, code: 'record_mismatch' };
}

type MarkStamp = (claim: StampClaim, stamp: StoredStamp | null) => Promise<StampMark>;

/**
 * Adds a cache to `mark`. A page shows a thousand outputs to anyone, so each proved mark is kept for five minutes, for exactly the same
 * claim and stamp.
 */
export function rememberMarks(mark: MarkStamp): MarkStamp {
  const known = new LRUCache<string, StampMark>({ max: 10_000, ttl: 300_000 });
  return async (claim, stamp) => {
    const content = hash('sha256', serialize([claim, stamp]), 'base64url');
    const before = known.get(content);
    if (before) return before;
    const found = await mark(claim, stamp);
    if (found.verdict.kind === 'proved') known.set(content, found);
    return found;
  };
}
