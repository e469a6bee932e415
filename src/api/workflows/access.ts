import { createHash, timingSafeEqual } from 'node:crypto';
import type { ChallengeRefusal } from '../../shared/domain/challenge.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { needsQualifiedProvider } from '../../shared/domain/stamp.ts';
import { answerTo, type WorkflowOperation, type WorkflowRefusal } from '../../shared/domain/workflow-state.ts';
import { snapshotOf, type WorkflowRecord } from '../../shared/store/workflows.ts';
import { startDeadline, storeBefore } from '../stamps/index.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/**
 * Finds a workflow and checks its token.
 *
 * @param spentMs the time that the request has spent before
 * @throws ServiceError `unauthorized` (E5), `not_found`, `store_unavailable`
 */
export function openWorkflow(
  tools: WorkflowTools,
  workflowId: string,
  token: string | undefined,
  spentMs?: number,
): Promise<WorkflowRecord> {
  return storeBefore(startDeadline(tools, spentMs), async () => {
    if (token === undefined) throw unauthorized();
    const workflow = await findWorkflow(tools, workflowId);
    const given = Buffer.from(digestOfToken(token), 'hex');
    if (!timingSafeEqual(given, Buffer.from(workflow.tokenSha256, 'hex'))) throw unauthorized();
    return workflow;
  });
}

const unauthorized = () =>
  new ServiceError('unauthorized', 'A valid workflow token is required: Authorization: Workflow <token>.', {
    credential: 'workflow_token',
  });

/** The stored digest of a workflow token: SHA-256, lower-case hex. */
export const digestOfToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Finds a workflow without checking a token. @throws ServiceError `not_found`, `store_unavailable` */
export async function findWorkflow({ store }: WorkflowTools, workflowId: string): Promise<WorkflowRecord> {
  const workflow = await store.workflows.find(workflowId);
  if (!workflow) throw new ServiceError('not_found', 'There is no workflow with this id.');
  return workflow;
}

export const workflowExists = async ({ store }: WorkflowTools, workflowId: string): Promise<boolean> =>
  (await store.workflows.find(workflowId)) !== null;

/**
 * Checks whether the state of a workflow allows an operation. Returns `again` if the operation was already done.
 *
 * @throws ServiceError `conflict` or `gone`, as the state table says (W2)
 */
export function checkState(operation: WorkflowOperation, workflow: WorkflowRecord, nowMs: number): 'go' | 'again' {
  const answer = answerTo(operation, snapshotOf(workflow), nowMs);
  if (typeof answer === 'object') throw refusalError(answer.kind, answer.reason, operation);
  return answer;
}

/** Whether the providers can make the stamps of a workflow. */
export const isTierServed = async ({ servesQualified }: WorkflowTools, { tier }: WorkflowRecord): Promise<boolean> =>
  !needsQualifiedProvider(tier) || servesQualified();

/**
 * Refuses a tier that the providers cannot serve (W19). Call it before anything is closed or queued.
 *
 * @throws ServiceError `tier_unavailable`
 */
export async function checkTier(tools: WorkflowTools, workflow: WorkflowRecord): Promise<void> {
  if (!(await isTierServed(tools, workflow))) throw tierUnavailable();
}

export const tierUnavailable = () => new ServiceError('tier_unavailable', 'This tier needs a qualified provider, but none is configured.');

type RefusalReason = WorkflowRefusal['reason'] | ChallengeRefusal;

/** A sentence for each reason why a workflow refuses an operation or a challenge. */
const sentences: Readonly<Record<RefusalReason, string>> = {
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

/** The error for a refusal by the state table, or for a challenge that can no longer be answered (W6). Its reason is a member. */
export function refusalError(kind: WorkflowRefusal['kind'], reason: RefusalReason, operation?: WorkflowOperation): ServiceError {
  const sentence = reason === 'email_not_verified' && operation === 'complete' ? notCompletable : sentences[reason];
  return new ServiceError(kind, sentence, { members: { reason } });
}
