import type { WorkflowRedactResponse } from '../../shared/contract/workflow.ts';
import { redactedEmail } from '../../shared/domain/recipient.ts';
import { readStatus } from '../../shared/domain/workflow-state.ts';
import { snapshotOf, type WorkflowRecord } from '../../shared/store/workflows.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/**
 * Destroys the key of a workflow. The key encrypts the e-mail address, the agent's id and all metadata, so these can no longer be read, not even in
 * copies of the queue and the store. Hashes and chain stay (W10). If a call was interrupted, a repeated call removes the rest.
 *
 * @throws ServiceError `store_unavailable`
 */
export async function redactWorkflow({ store, clock }: WorkflowTools, workflow: WorkflowRecord): Promise<WorkflowRedactResponse> {
  const { _id: workflowId } = workflow;
  await store.workflows.redact(workflowId, new Date(clock()));
  await store.outputs.forgetMetadata(workflowId);
  return { workflow_id: workflowId, status: readStatus(snapshotOf(workflow), clock()), user_email: redactedEmail };
}
