import { randomUUIDv7 } from 'node:crypto';
import {
  type ChallengeRefusal,
  challengeRefusal,
  digestOfChallenge,
  isWellFormedChallenge,
  maxWrongTries,
} from '../../../shared/domain/challenge.ts';
import { answerTo, type WorkflowRefusal } from '../../../shared/domain/workflow-state.ts';
import type { JobSender } from '../../../shared/queue/job-sender.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { snapshotOf, type WorkflowStore } from '../../../shared/store/workflows.ts';

/** What became of an answer to a challenge (W6): `wrong` may be tried again, the other refusals are final. */
export type ChallengeOutcome =
  | { readonly kind: 'verified' }
  | { readonly kind: 'wrong'; readonly triesLeft: number }
  | { readonly kind: ChallengeRefusal | 'workflow_expired' | 'workflow_closed' | 'email_redacted' };

const isGone = (refusal: WorkflowRefusal): refusal is Extract<WorkflowRefusal, { kind: 'gone' }> => refusal.kind === 'gone';

/**
 * Checks a challenge that somebody brings; null when there is no such workflow. A text that cannot be a challenge, such as a link that
 * was cut off, is wrong but counts as no try (W6).
 *
 * @throws ServiceError `store_unavailable`
 */
export function createUserVerification(deps: { workflows: WorkflowStore; jobs: Pick<JobSender, 'send'>; clock: Clock }) {
  const { workflows, jobs, clock } = deps;

  /** Ahead of the answer, which may be given only once: the job finds out whether it was right (N4). @throws ServiceError `queue_unavailable` */
  async function announce(workflowId: string, requestId: string, acceptedAt: number): Promise<void> {
    const workflow = await workflows.find(workflowId);
    if (!workflow?.callbackUrl || workflow.emailVerifiedAt) return;
    const job = { event: 'workflow.confirmed', workflowId, acceptedAt, requestId } as const;
    await jobs.send('webhook', job, `confirmed-${randomUUIDv7()}`);
  }

  /** Why nothing could be answered; `wrong` where a challenge could be, but this was none. */
  async function explain(workflowId: string, digest: string, nowMs: number): Promise<ChallengeOutcome | null> {
    const workflow = await workflows.find(workflowId);
    if (!workflow) return null;
    const answer = answerTo('verify_user', snapshotOf(workflow), nowMs);
    if (typeof answer === 'object' && isGone(answer)) return { kind: answer.reason };
    const { challenge, formerChallenges = [] } = workflow;
    if (formerChallenges.includes(digest)) return { kind: 'challenge_replaced' };
    // The mail is not sent yet: nobody can know the challenge, and no try is worth counting.
    if (!challenge) return { kind: 'wrong', triesLeft: maxWrongTries };
    const { expiresAt, usedAt, wrongTries } = challenge;
    const kind = challengeRefusal({ expiresAtMs: expiresAt.getTime(), isUsed: usedAt !== undefined, wrongTries }, nowMs);
    return kind ? { kind } : { kind: 'wrong', triesLeft: maxWrongTries - wrongTries };
  }

  return async (workflowId: string, given: string, requestId: string): Promise<ChallengeOutcome | null> => {
    const digest = digestOfChallenge(given);
    const nowMs = clock();
    if (isWellFormedChallenge(given)) {
      await announce(workflowId, requestId, nowMs);
      const answered = await workflows.answerChallenge(workflowId, digest, new Date(nowMs));
      if (answered?.challenge?.usedAt) return { kind: 'verified' };
      if (answered?.challenge) return { kind: 'wrong', triesLeft: maxWrongTries - answered.challenge.wrongTries };
    }
    return explain(workflowId, digest, nowMs);
  };
}
