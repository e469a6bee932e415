import type { ChallengeRefusal } from '../../shared/domain/challenge.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { WorkflowOperation, WorkflowRefusal } from '../../shared/domain/workflow-state.ts';

/** A sentence for each reason why a workflow refuses an operation or a challenge. */
const sentences: Readonly<Record<WorkflowRefusal['reason'] | ChallengeRefusal, string>> = {
  email_not_verified: 'In this tier outputs are stamped only after the e-mail address is confirmed.',
  email_verified: 'The e-mail address is already confirmed.',
  workflow_closed: 'The workflow is closed, so nothing can be added.',
  workflow_expired: 'The workflow has expired.',
  email_redacted: 'The e-mail address of this workflow was erased.',
  challenge_used: 'The challenge has already been used.',
  challenge_expired: 'The challenge has expired.',
  challenge_exhausted: 'The challenge was attempted too often.',
  challenge_replaced: 'A newer link was mailed, so this one no longer works.',
};

const notCompletable = 'In this tier a workflow is completed only after the e-mail address is confirmed.';

/** Converts a refusal by the state table into an error: `conflict` or `gone`, with the reason as a member. */
export function refusalError({ kind, reason }: WorkflowRefusal, operation?: WorkflowOperation): ServiceError {
  const sentence = reason === 'email_not_verified' && operation === 'complete' ? notCompletable : sentences[reason];
  return new ServiceError(kind, sentence, { members: { reason } });
}

/** The error for a challenge that can no longer be answered (W6). */
export const challengeError = (reason: WorkflowRefusal['reason'] | ChallengeRefusal): ServiceError =>
  new ServiceError('gone', sentences[reason], { members: { reason } });
