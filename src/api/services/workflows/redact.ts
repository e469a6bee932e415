import type { WorkflowRedactResponse } from '../../../shared/contract/workflow.ts';
import { redactedEmail } from '../../../shared/domain/mask-email.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { OutputStore } from '../../../shared/store/outputs.ts';
import type { WorkflowRecord, WorkflowStore } from '../../../shared/store/workflows.ts';

/**
 * Removes the e-mail address of a workflow, and all metadata, because callers may have written the address there too. Hashes and chain
 * stay (W10). When a call was cut short, repeating it removes the rest.
 *
 * @throws ServiceError `store_unavailable`
 */
export function createRedaction({ workflows, outputs, clock }: { workflows: WorkflowStore; outputs: OutputStore; clock: Clock }) {
  return async ({ _id: workflowId }: WorkflowRecord): Promise<WorkflowRedactResponse> => {
    await workflows.redact(workflowId, new Date(clock()));
    await outputs.forgetMetadata(workflowId);
    return { workflow_id: workflowId, status: 'redacted', user_email: redactedEmail };
  };
}
