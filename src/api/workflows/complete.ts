import { setTimeout as delay } from 'node:timers/promises';
import type { WorkflowCompleteResponse } from '../../shared/contract/workflow.ts';
import { workflowPath, workflowStatePath } from '../../shared/domain/addresses.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { answerWithin } from '../../shared/runtime/answer-within.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import { checkState, checkTier, unknownWorkflow } from './access.ts';
import { createSealReader, isSealed } from './closing-proof.ts';
import type { MarkStamp } from './stamp-marks.ts';
import type { WorkflowTools } from './workflow-tools.ts';

const firstLookMs = 10;
const longestLookMs = 250;

/**
 * Completes a workflow: queues a job, then polls the store until the workflow is completed. Unlike stamps, completions have no reply: they are rare,
 * and several callers may wait for the same completion. Completing again gives the same answer (W4).
 *
 * @throws ServiceError `conflict`, `gone`, `tier_unavailable`, `provider_failed` if the root could not be stamped, `internal_error` if the stamps
 *   that closed it do not verify, `completion_pending` if the workflow is not completed in time, or the queue did not confirm the job (complete it
 *   again to continue), `queue_unavailable`, `store_unavailable`
 */
export function createCompletion(tools: WorkflowTools, markStamp: MarkStamp) {
  const { workflows, jobs, clock, waitMs, servesQualified, addressOf } = tools;
  const readSeals = createSealReader({ ...tools, markStamp });

  async function untilCompleted({ _id: workflowId, rootFailures = 0 }: WorkflowRecord): Promise<WorkflowRecord> {
    const deadline = performance.now() + waitMs;
    for (let lookMs = firstLookMs; ; lookMs = Math.min(lookMs * 1.5, longestLookMs)) {
      await delay(Math.min(lookMs, waitMs));
      // The job may be in the queue, so polling continues while the store does not answer.
      const workflow = await answerWithin(Math.max(deadline - performance.now(), longestLookMs), () => workflows.find(workflowId));
      if (workflow === null) throw unknownWorkflow();
      if (workflow?.status === 'completed') return workflow;
      if ((workflow?.rootFailures ?? 0) > rootFailures) {
        throw new ServiceError('provider_failed', 'No provider could stamp the root. The workflow is closed; complete it again.');
      }
      if (performance.now() >= deadline) {
        throw new ServiceError('completion_pending', 'The workflow is being completed. Ask again for the result.', {
          retryAfterSeconds: 5,
          members: { status_url: addressOf(workflowStatePath(workflowId)), verify_url: addressOf(workflowPath(workflowId)) },
        });
      }
    }
  }

  async function answerOf(workflow: WorkflowRecord): Promise<WorkflowCompleteResponse> {
    const { _id: workflowId, root, completedAt } = workflow;
    if (!root || !completedAt) throw new ServiceError('internal_error', 'The workflow is completed without a root.');
    if (!isSealed(workflow, await readSeals(workflow))) {
      throw new ServiceError('internal_error', 'The stamps that closed this workflow do not verify. See verify_url for the reason.', {
        members: { verify_url: addressOf(workflowPath(workflowId)) },
      });
    }
    return {
      workflow_id: workflowId,
      status: 'completed',
      output_count: root.outputCount,
      verify_url: addressOf(workflowPath(workflowId)),
      completed_at: completedAt.toISOString(),
    };
  }

  return async (
    workflow: WorkflowRecord,
    { requestId, baseUrl }: { requestId: string; baseUrl: string },
  ): Promise<WorkflowCompleteResponse> => {
    const now = clock();
    if (checkState('complete', workflow, now) === 'again') return answerOf(workflow);
    checkTier(workflow, servesQualified);
    await jobs.send('workflow-completion', { workflowId: workflow._id, acceptedAt: now, requestId, baseUrl }, `completion-${workflow._id}`);
    return answerOf(await untilCompleted(workflow));
  };
}
