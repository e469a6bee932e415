import type { ChallengeRefusal } from '../../shared/domain/challenge.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { WorkflowOperation, WorkflowRefusal } from '../../shared/domain/workflow-state.ts';

/** Every reason for which a workflow refuses an operation or a challenge, in one sentence. */
const sentences: Readonly<Record<WorkflowRefusal['reason'] | ChallengeRefusal, string>> = {
  email_not_verified: 'In this tier outputs are stamped only once the e-mail address is confirmed.',
  email_verified: 'The e-mail address is confirmed already.',
  workflow_closed: 'The workflow is closed: nothing can be added to it.',
  workflow_expired: 'The workflow has expired.',
  email_redacted: 'The e-mail address of this workflow was erased.',
  challenge_used: 'The challenge has already been used.',
  challenge_expired: 'The challenge has expired.',
  challenge_exhausted: 'The challenge was attempted too often.',
  challenge_replaced: 'A newer link was mailed; this one no longer works.',
};

const notCompletable = 'In this tier a workflow is completed only once the e-mail address is confirmed.';

/** A refusal of the state table as an error: `conflict` or `gone`, with its reason as a member. */
export function refusalError({ kind, reason }: WorkflowRefusal, operation?: WorkflowOperation): ServiceError {
  const sentence = reason === 'email_not_verified' && operation === 'complete' ? notCompletable : sentences[reason];
  return new ServiceError(kind, sentence, { members: { reason } });
}

/** Why a challenge can no longer be answered, as an error (W6, W7). */
export const challengeError = (reason: WorkflowRefusal['reason'] | ChallengeRefusal): ServiceError =>
  new ServiceError('gone', sentences[reason], { members: { reason } });
