import type { WorkflowCompleteResponse } from '../../shared/contract/workflow.ts';
import { workflowPath, workflowStatePath } from '../../shared/domain/addresses.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import { startDeadline } from '../stamps/index.ts';
import { checkState, checkTier, findWorkflow, tierUnavailable } from './access.ts';
import { type Answered, identifyFor, type WorkflowCommand } from './lifecycle.ts';
import { isSealed } from './proof.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/**
 * Requests the completion of a workflow, and waits for it. A worker closes it; several callers may wait for the same completion. Completing again
 * gives the same answer (W4).
 *
 * @throws ServiceError `conflict`, `gone`, `tier_unavailable`, `provider_failed` if the root could not be stamped, `internal_error` if the stamps
 *   that closed it do not verify, `completion_pending` if the workflow is not completed in time, or the queue did not confirm the job (complete it
 *   again to continue), `queue_unavailable`, `store_unavailable`
 */
export async function requestCompletion(
  tools: WorkflowTools,
  workflow: WorkflowRecord,
  command: WorkflowCommand,
): Promise<Answered<WorkflowCompleteResponse>> {
  const answer = await completionOf(tools, workflow, command);
  return { answer, isReplayed: (await identifyFor(tools, workflow, 'complete', command)).isRepeated };
}

async function completionOf(
  tools: WorkflowTools,
  workflow: WorkflowRecord,
  { requestId, baseUrl }: WorkflowCommand,
): Promise<WorkflowCompleteResponse> {
  const { clock, addressOf } = tools;
  const now = clock();
  if (checkState('complete', workflow, now) === 'again') return completedAnswerOf(tools, workflow);
  await checkTier(tools, workflow);
  const { _id: workflowId } = workflow;
  const reply = await tools.submission.complete({ workflowId, acceptedAt: now, requestId, baseUrl }, startDeadline(tools));
  const pending = (cause?: unknown) =>
    new ServiceError('completion_pending', 'The workflow is being completed. Ask again for the result.', {
      retryAfterSeconds: 5,
      members: { status_url: addressOf(workflowStatePath(workflowId)), verify_url: addressOf(workflowPath(workflowId)) },
      cause,
    });
  if (!reply) throw pending();
  if (reply.outcome === 'not_completed') {
    if (reply.code === 'tier_unavailable') throw tierUnavailable();
    throw new ServiceError('provider_failed', 'No provider could stamp the root. Complete the workflow again.');
  }
  try {
    return await completedAnswerOf(tools, await findWorkflow(tools, workflowId));
  } catch (error) {
    // The workflow is completed, so the caller must not get 503 (E11).
    throw error instanceof ServiceError && error.code === 'store_unavailable' ? pending(error) : error;
  }
}

async function completedAnswerOf(tools: WorkflowTools, workflow: WorkflowRecord): Promise<WorkflowCompleteResponse> {
  const { _id: workflowId, root, completedAt } = workflow;
  const verify_url = tools.addressOf(workflowPath(workflowId));
  if (!root || !completedAt) throw new ServiceError('internal_error', 'The workflow is completed without a root.');
  if (!(await isSealed(tools, workflow))) {
    throw new ServiceError('internal_error', 'The stamps that closed this workflow do not verify. See verify_url for the reason.', {
      members: { verify_url },
    });
  }
  return {
    workflow_id: workflowId,
    status: 'completed',
    output_count: root.outputCount,
    verify_url,
    completed_at: completedAt.toISOString(),
  };
}
