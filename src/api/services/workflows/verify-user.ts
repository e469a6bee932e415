import { type ChallengeRefusal, challengeRefusal, digestOfChallenge, maxWrongTries } from '../../../shared/domain/challenge.ts';
import { answerTo, type WorkflowRefusal } from '../../../shared/domain/workflow-state.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { snapshotOf, type WorkflowStore } from '../../../shared/store/workflows.ts';

/** What became of an answer to a challenge (W6): `wrong` may be tried again, the other refusals are final. */
export type ChallengeOutcome =
  | { readonly kind: 'verified' }
  | { readonly kind: 'wrong'; readonly triesLeft: number }
  | { readonly kind: ChallengeRefusal | 'workflow_expired' | 'workflow_closed' | 'email_redacted' };

const isGone = (refusal: WorkflowRefusal): refusal is Extract<WorkflowRefusal, { kind: 'gone' }> => refusal.kind === 'gone';

/**
 * Answers a challenge; null when there is no such workflow.
 *
 * @throws ServiceError `store_unavailable`
 */
export function createUserVerification({ workflows, clock }: { workflows: WorkflowStore; clock: Clock }) {
  /** Why nothing could be answered; undefined when that is over by now. */
  async function explain(workflowId: string, nowMs: number): Promise<ChallengeOutcome | null | undefined> {
    const workflow = await workflows.find(workflowId);
    if (!workflow) return null;
    const answer = answerTo('verify_user', snapshotOf(workflow), nowMs);
    if (typeof answer === 'object' && isGone(answer)) return { kind: answer.reason };
    const { challenge } = workflow;
    // The mail is not sent yet: nobody can know the challenge, and no try is worth counting.
    if (!challenge) return { kind: 'wrong', triesLeft: maxWrongTries };
    const { expiresAt, usedAt, wrongTries } = challenge;
    const kind = challengeRefusal({ expiresAtMs: expiresAt.getTime(), isUsed: usedAt !== undefined, wrongTries }, nowMs);
    return kind && { kind };
  }

  return async (workflowId: string, challenge: string): Promise<ChallengeOutcome | null> => {
    for (;;) {
      const nowMs = clock();
      const answered = await workflows.answerChallenge(workflowId, digestOfChallenge(challenge), new Date(nowMs));
      if (answered?.challenge?.usedAt) return { kind: 'verified' };
      if (answered?.challenge) return { kind: 'wrong', triesLeft: maxWrongTries - answered.challenge.wrongTries };
      const outcome = await explain(workflowId, nowMs);
      if (outcome !== undefined) return outcome;
    }
  };
}
