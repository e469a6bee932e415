import { hash } from 'node:crypto';
import { serialize } from 'node:v8';
import { LRUCache } from 'lru-cache';
import { addressesUnder, verifyPath } from '../../shared/domain/addresses.ts';
import { isQualified } from '../../shared/domain/qualification.ts';
import { reasonOf, verdictOf } from '../../shared/domain/reasons.ts';
import { answerWithin } from '../../shared/runtime/timers.ts';
import type { StoredStamp } from '../../shared/store/stamps.ts';
import { canServeQualified } from '../../shared/trust/trusted-providers.ts';
import type { StampTools } from '../stamps/index.ts';
import type { StampJudge, StampJudgement, StampMark } from '../verification/index.ts';
import { createChainProver } from './chain-proof.ts';

/** The tools of the operations on workflows: those of stamps, and what is remembered about workflows. */
export type WorkflowTools = ReturnType<typeof createWorkflowTools>;

/** How long the state of the workers is waited for, in milliseconds. */
const longestLookMs = 500;

/** `canSendMail` returns false only if a mail server is certainly not configured. */
export function createWorkflowTools(tools: StampTools<StampJudge>, canSendMail: () => Promise<boolean>) {
  const { config, store, stampJudge, trust, readHeartbeats, clock } = tools;
  /** Whether the mock provider is the only one. */
  const makesTestStamps = trust.providers.length === 0;

  /**
   * Whether a qualified stamp may be made now: the settings allow it, and by its last token a provider of some worker may be qualified. True also for
   * the mock provider alone, so that the tier can be tried (W2), and while no worker says anything.
   */
  async function servesQualified(): Promise<boolean> {
    if (makesTestStamps || !canServeQualified(trust)) return makesTestStamps;
    const heartbeats = (await answerWithin(longestLookMs, () => readHeartbeats(clock()))) ?? [];
    return heartbeats.length === 0 || heartbeats.some(({ providers }) => providers.some(({ mayBeQualified }) => mayBeQualified));
  }

  return {
    ...tools,
    canSendMail,
    makesTestStamps,
    servesQualified,
    /** Makes a path absolute if `PUBLIC_BASE_URL` is set (W13). */
    addressOf: addressesUnder(config.PUBLIC_BASE_URL),
    chains: createChainProver(store.outputs),
    markOutput: rememberMarks((claim, stamp) => markStamp(stampJudge, claim, stamp)),
  };
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
  const { tokenId, stampedAt, provider } = claim;
  const shown = { tokenId, stampedAt, provider, verifyUrl: verifyPath(tokenId) };
  if (!judgement.ok) {
    const reason = reasonOf(judgement.code);
    const isNotProved = verdictOf(judgement.code) === 'not_proved';
    return {
      ...shown,
      isQualified: false,
      qualification: null,
      verdict: isNotProved ? { kind: 'not_proved' } : { kind: 'refused', reason },
    };
  }
  const { isProviderKnown, qualification, verified } = judgement;
  // If the provider is not configured, its recorded name is not proved, so the name in the signer's certificate is shown.
  const proved = isProviderKnown || !verified ? provider : verified.signer.subject;
  return { ...shown, provider: proved, isQualified: isQualified(qualification), qualification, verdict: { kind: 'proved' } };
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
