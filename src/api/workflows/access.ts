import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { needsQualifiedProvider } from '../../shared/domain/stamp.ts';
import { answerTo, type WorkflowOperation } from '../../shared/domain/workflow-state.ts';
import { snapshotOf, type WorkflowRecord, type WorkflowStore } from '../../shared/store/workflows.ts';
import { refusalError } from './refusals.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/** The stored digest of a workflow token: SHA-256, lower-case hex. */
export const digestOfToken = (token: string): string => createHash('sha256').update(token).digest('hex');

const unauthorized = () =>
  new ServiceError('unauthorized', 'A valid workflow token is required: Authorization: Workflow <token>.', {
    credential: 'workflow_token',
  });

const unknownWorkflow = () => new ServiceError('not_found', 'There is no workflow with this id.');

/** Finds a workflow without checking a token. @throws ServiceError `not_found`, `store_unavailable` */
export async function findWorkflow(workflows: WorkflowStore, workflowId: string): Promise<WorkflowRecord> {
  const workflow = await workflows.find(workflowId);
  if (!workflow) throw unknownWorkflow();
  return workflow;
}

/**
 * Finds a workflow and checks its token.
 *
 * @throws ServiceError `unauthorized` (E5), `not_found`, `store_unavailable`
 */
export async function openWorkflow(workflows: WorkflowStore, workflowId: string, token: string | undefined): Promise<WorkflowRecord> {
  if (token === undefined) throw unauthorized();
  const workflow = await findWorkflow(workflows, workflowId);
  const given = Buffer.from(digestOfToken(token), 'hex');
  if (!timingSafeEqual(given, Buffer.from(workflow.tokenSha256, 'hex'))) throw unauthorized();
  return workflow;
}

/**
 * Checks whether the state of a workflow allows an operation. Returns `again` if the operation was already done.
 *
 * @throws ServiceError `conflict` or `gone`, as the state table says (W2)
 */
export function checkState(operation: WorkflowOperation, workflow: WorkflowRecord, nowMs: number): 'go' | 'again' {
  const answer = answerTo(operation, snapshotOf(workflow), nowMs);
  if (typeof answer === 'object') throw refusalError(answer, operation);
  return answer;
}

export const tierUnavailable = () => new ServiceError('tier_unavailable', 'This tier needs a qualified provider, but none is configured.');

/** Whether the providers can make the stamps of a workflow. */
export const isTierServed = async ({ tier }: WorkflowRecord, { servesQualified }: WorkflowTools): Promise<boolean> =>
  !needsQualifiedProvider(tier) || servesQualified();

/**
 * Refuses a tier that the providers cannot serve (W19). Call it before anything is closed or queued.
 *
 * @throws ServiceError `tier_unavailable`
 */
export async function checkTier(workflow: WorkflowRecord, tools: WorkflowTools): Promise<void> {
  if (!(await isTierServed(workflow, tools))) throw tierUnavailable();
}
