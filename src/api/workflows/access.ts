import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { needsQualifiedProvider } from '../../shared/domain/stamp.ts';
import { answerTo, type WorkflowOperation } from '../../shared/domain/workflow-state.ts';
import { snapshotOf, type WorkflowRecord } from '../../shared/store/workflows.ts';
import { identify, startDeadline, storeBefore } from '../stamps/index.ts';
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
export async function findWorkflow({ store }: WorkflowTools, workflowId: string): Promise<WorkflowRecord> {
  const workflow = await store.workflows.find(workflowId);
  if (!workflow) throw unknownWorkflow();
  return workflow;
}

/** @throws ServiceError `store_unavailable` */
export const workflowExists = async ({ store }: WorkflowTools, workflowId: string): Promise<boolean> =>
  (await store.workflows.find(workflowId)) !== null;

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

/**
 * Records that this operation was done with this idempotency key, and returns whether that was recorded before. Call it after the operation, so that a
 * failed operation does not use up the key.
 */
export async function bindAnswer(
  tools: WorkflowTools,
  workflow: WorkflowRecord,
  operation: 'complete' | 'redact',
  key: string | undefined,
): Promise<boolean> {
  const request = { caller: `workflow:${workflow._id}`, key, operation: `workflow_${operation}`, content: null };
  return (await identify(tools, request)).isRepeated;
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
