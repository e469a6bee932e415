import {
  type ChallengeRefusal,
  challengeRefusal,
  digestOfChallenge,
  isWellFormedChallenge,
  maxWrongTries,
} from '../../shared/domain/challenge.ts';
import { answerTo } from '../../shared/domain/workflow-state.ts';
import { snapshotOf, type WorkflowRecord } from '../../shared/store/workflows.ts';
import type { WorkflowTools } from './workflow-tools.ts';

type FinalRefusal = ChallengeRefusal | 'workflow_expired' | 'workflow_closed' | 'email_redacted';

/**
 * What became of an answer to a challenge (W6): `wrong` may be tried again, the other refusals are final. `isGuess`: it never was a
 * challenge of this workflow.
 */
export type ChallengeOutcome =
  | { readonly kind: 'verified' }
  | { readonly kind: 'wrong'; readonly triesLeft: number }
  | { readonly kind: FinalRefusal; readonly isGuess?: boolean };

/** Calls of so long share a job. Far less than the time that the job waits for what it tells to come true. */
const announcedTogetherMs = 10_000;

/** Why not even the right challenge would be taken; undefined where it would. */
function refusalOf(workflow: WorkflowRecord, digest: string, nowMs: number): FinalRefusal | undefined {
  const answer = answerTo('verify_user', snapshotOf(workflow), nowMs);
  if (typeof answer === 'object' && answer.kind === 'gone') return answer.reason;
  const { challenge, formerChallenges = [] } = workflow;
  if (formerChallenges.includes(digest)) return 'challenge_replaced';
  if (!challenge) return undefined;
  const { expiresAt, usedAt, wrongTries } = challenge;
  return challengeRefusal({ expiresAtMs: expiresAt.getTime(), isUsed: usedAt !== undefined, wrongTries }, nowMs);
}

/** Redaction destroys the digests: what is brought after it is given the benefit of the doubt. */
const isGuess = ({ challenge, formerChallenges = [], redactedAt }: WorkflowRecord, digest: string): boolean =>
  !redactedAt && challenge?.digest !== digest && !formerChallenges.includes(digest);

/**
 * Checks a challenge that somebody brings; null when there is no such workflow. A text that cannot be a challenge, such as a link that
 * was cut off, is wrong but counts as no try (W6).
 *
 * @throws ServiceError `store_unavailable`
 */
export function createUserVerification({ workflows, jobs, clock }: WorkflowTools) {
  /**
   * Only of the right challenge, and ahead of the answer, which may be given only once: the job finds out whether it was taken (N4).
   *
   * @throws ServiceError `queue_unavailable`
   */
  async function announce(workflowId: string, digest: string, requestId: string, acceptedAt: number): Promise<void> {
    const workflow = await workflows.find(workflowId);
    if (!workflow?.callbackUrl || workflow.challenge?.digest !== digest || refusalOf(workflow, digest, acceptedAt)) return;
    const job = { event: 'workflow.confirmed', workflowId, acceptedAt, requestId } as const;
    await jobs.send('webhook', job, `confirmed-${workflowId}-${Math.floor(acceptedAt / announcedTogetherMs)}`);
  }

  /** Why nothing could be answered; `wrong` where a challenge could be, but this was none. */
  async function explain(workflowId: string, digest: string, nowMs: number): Promise<ChallengeOutcome | null> {
    const workflow = await workflows.find(workflowId);
    if (!workflow) return null;
    const kind = refusalOf(workflow, digest, nowMs);
    if (kind) return { kind, isGuess: isGuess(workflow, digest) };
    // Where the mail is not sent yet, nobody can know the challenge, and no try is worth counting.
    return { kind: 'wrong', triesLeft: maxWrongTries - (workflow.challenge?.wrongTries ?? 0) };
  }

  return async (workflowId: string, given: string, requestId: string): Promise<ChallengeOutcome | null> => {
    const digest = digestOfChallenge(given);
    const nowMs = clock();
    if (isWellFormedChallenge(given)) {
      await announce(workflowId, digest, requestId, nowMs);
      const answered = await workflows.answerChallenge(workflowId, digest, new Date(nowMs));
      if (answered?.challenge?.usedAt) return { kind: 'verified' };
      if (answered?.challenge) return { kind: 'wrong', triesLeft: maxWrongTries - answered.challenge.wrongTries };
    }
    return explain(workflowId, digest, nowMs);
  };
}
