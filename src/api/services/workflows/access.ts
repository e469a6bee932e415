import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../../shared/domain/service-error.ts';
import { answerTo, type WorkflowOperation, type WorkflowRefusal } from '../../../shared/domain/workflow-state.ts';
import { snapshotOf, type WorkflowRecord, type WorkflowStore } from '../../../shared/store/workflows.ts';

/** What is stored of a workflow token: its SHA-256, lower-case hex. */
export const digestOfToken = (token: string): string => createHash('sha256').update(token).digest('hex');

const unauthorized = () =>
  new ServiceError('unauthorized', 'A valid workflow token is required: Authorization: Workflow <token>.', {
    credential: 'workflow_token',
  });

export const unknownWorkflow = () => new ServiceError('not_found', 'There is no workflow with this id.');

/**
 * The workflow that a token opens.
 *
 * @throws ServiceError `unauthorized` (E5), `not_found`, `store_unavailable`
 */
export async function openWorkflow(workflows: WorkflowStore, workflowId: string, token: string | undefined): Promise<WorkflowRecord> {
  if (token === undefined) throw unauthorized();
  const workflow = await workflows.find(workflowId);
  if (!workflow) throw unknownWorkflow();
  const given = Buffer.from(digestOfToken(token), 'hex');
  if (!timingSafeEqual(given, Buffer.from(workflow.tokenSha256, 'hex'))) throw unauthorized();
  return workflow;
}

const sentences: Readonly<Record<WorkflowRefusal['reason'], string>> = {
  email_not_verified: 'In this tier outputs are stamped only once the e-mail address is confirmed.',
  workflow_closed: 'The workflow is closed: nothing can be added to it.',
  workflow_expired: 'The workflow has expired.',
  email_redacted: 'The e-mail address of this workflow was removed.',
  challenge_used: 'The challenge has already been used.',
};

/** A refusal of the state table as an error: `conflict` or `gone`, with its reason as a member. */
export function refusalError({ kind, reason }: WorkflowRefusal): ServiceError {
  return new ServiceError(kind, sentences[reason], { members: { reason } });
}

/**
 * Whether an operation is to be done, or was done before.
 *
 * @throws ServiceError `conflict` or `gone`, as the state table says (W2, W4, W5)
 */
export function checkState(operation: WorkflowOperation, workflow: WorkflowRecord, nowMs: number): 'go' | 'again' {
  const answer = answerTo(operation, snapshotOf(workflow), nowMs);
  if (typeof answer === 'object') throw refusalError(answer);
  return answer;
}
