import type { WorkflowRedactResponse } from '../../shared/contract/workflow.ts';
import { redactedEmail } from '../../shared/domain/mask-email.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/**
 * Destroys the key of a workflow. What it encrypts, the e-mail address, the agent's id and all metadata, can then be read nowhere, in copies of
 * queue and store neither. Hashes and chain stay (W10). When a call was cut short, repeating it removes the rest.
 *
 * @throws ServiceError `store_unavailable`
 */
export function createRedaction({ workflows, outputs, clock }: WorkflowTools) {
  return async ({ _id: workflowId }: WorkflowRecord): Promise<WorkflowRedactResponse> => {
    await workflows.redact(workflowId, new Date(clock()));
    await outputs.forgetMetadata(workflowId);
    return { workflow_id: workflowId, status: 'redacted', user_email: redactedEmail };
  };
}
