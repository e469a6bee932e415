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
 * The outcome of an answer to a challenge. After `wrong` the caller may try again; the other refusals are final. `isGuess`: it never was
 * a challenge of this workflow.
 */
export type ChallengeOutcome =
  | { readonly kind: 'verified' }
  | { readonly kind: 'wrong'; readonly triesLeft: number }
  | { readonly kind: FinalRefusal; readonly isGuess?: boolean };

/** Calls within this time share a job. It is much shorter than the job's own wait for the confirmation. */
const announcedTogetherMs = 10_000;

/** Why even the right challenge would be refused; undefined if it would be accepted. */
function refusalOf(workflow: WorkflowRecord, digest: string, nowMs: number): FinalRefusal | undefined {
  const answer = answerTo('verify_user', snapshotOf(workflow), nowMs);
  if (typeof answer === 'object' && answer.kind === 'gone') return answer.reason;
  const { challenge, formerChallenges = [] } = workflow;
  if (formerChallenges.includes(digest)) return 'challenge_replaced';
  if (!challenge) return undefined;
  const { expiresAt, usedAt, wrongTries } = challenge;
  return challengeRefusal({ expiresAtMs: expiresAt.getTime(), isUsed: usedAt !== undefined, wrongTries }, nowMs);
}

/** Redaction destroys the digests, so a challenge after it does not count as a guess. */
const isGuess = ({ challenge, formerChallenges = [], redactedAt }: WorkflowRecord, digest: string): boolean =>
  !redactedAt && challenge?.digest !== digest && !formerChallenges.includes(digest);

/**
 * Checks a challenge; null if there is no such workflow. A text that cannot be a challenge, such as a link that was cut off, is wrong but
 * does not count as a try (W6).
 *
 * @throws ServiceError `store_unavailable`
 */
export function createUserVerification({ workflows, jobs, clock }: WorkflowTools) {
  /**
   * Queues the webhook for the right challenge. This happens before the challenge is used, because it can be used only once. The job finds
   * out whether it was accepted.
   *
   * @throws ServiceError `queue_unavailable`
   */
  async function announce(workflowId: string, digest: string, requestId: string, acceptedAt: number): Promise<void> {
    const workflow = await workflows.find(workflowId);
    if (!workflow?.callbackUrl || workflow.challenge?.digest !== digest || refusalOf(workflow, digest, acceptedAt)) return;
    const job = { event: 'workflow.confirmed', workflowId, acceptedAt, requestId } as const;
    await jobs.send('webhook', job, `confirmed-${workflowId}-${Math.floor(acceptedAt / announcedTogetherMs)}`);
  }

  /** Why the challenge was refused; `wrong` if a challenge could be answered, but not with this text. */
  async function explain(workflowId: string, digest: string, nowMs: number): Promise<ChallengeOutcome | null> {
    const workflow = await workflows.find(workflowId);
    if (!workflow) return null;
    const kind = refusalOf(workflow, digest, nowMs);
    if (kind) return { kind, isGuess: isGuess(workflow, digest) };
    // If the mail is not sent yet, nobody can know the challenge, so the try is not counted.
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
