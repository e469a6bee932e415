import type { WorkflowRedactResponse } from '../../../shared/contract/workflow.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { OutputStore } from '../../../shared/store/outputs.ts';
import type { WorkflowRecord, WorkflowStore } from '../../../shared/store/workflows.ts';

/**
 * Removes the address of a workflow, and with it what callers said in words of their own, which may name it too; hash anchors and
 * the chain stay (W10). Repeating it removes what an earlier call, cut short, has left.
 *
 * @throws ServiceError `store_unavailable`
 */
export function createRedaction({ workflows, outputs, clock }: { workflows: WorkflowStore; outputs: OutputStore; clock: Clock }) {
  return async ({ _id: workflowId }: WorkflowRecord): Promise<WorkflowRedactResponse> => {
    await workflows.redact(workflowId, new Date(clock()));
    await outputs.forgetMetadata(workflowId);
    return { workflow_id: workflowId, status: 'redacted', user_email: '[REDACTED]' };
  };
}
