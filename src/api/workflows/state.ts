import { parseAsWritten } from '../../shared/contract/fields.ts';
import type { WorkflowStateResponse } from '../../shared/contract/workflow.ts';
import { workflowPath } from '../../shared/domain/addresses.ts';
import { readStatus } from '../../shared/domain/workflow-state.ts';
import { linkMailStateOf, snapshotOf, type WorkflowRecord } from '../../shared/store/workflows.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/** A time in RFC 3339, UTC; null if it is undefined. */
export const isoOf = (date: Date | undefined): string | null => date?.toISOString() ?? null;

/**
 * The state of a workflow (W16): the public facts of its page and, for the holder of its token, private facts.
 *
 * @throws ServiceError `store_unavailable`
 */
export async function readWorkflowState(
  { store: { outputs }, clock, addressOf }: WorkflowTools,
  workflow: WorkflowRecord,
  isHolder: boolean,
): Promise<WorkflowStateResponse> {
  const end = await outputs.findEnd(workflow._id);
  const { mail, briefingMetadata, salts } = workflow;
  return {
    workflow_id: workflow._id,
    status: readStatus(snapshotOf(workflow), clock()),
    tier: workflow.tier,
    created_at: workflow.createdAt.toISOString(),
    expires_at: workflow.expiresAt.toISOString(),
    confirmed_at: isoOf(workflow.emailVerifiedAt),
    completed_at: isoOf(workflow.completedAt),
    output_count: end?.sequenceNumber ?? 0,
    chain_hash: end?.chainHash ?? workflow.briefingHash,
    merkle_root: workflow.status === 'completed' ? (workflow.root?.hash ?? null) : null,
    verify_url: addressOf(workflowPath(workflow._id)),
    ...(isHolder && {
      agent_id: workflow.agentId,
      user_email: workflow.email,
      briefing_metadata: briefingMetadata === undefined ? null : (parseAsWritten(briefingMetadata) as Record<string, unknown>),
      commitment_salts: salts ? { user_email: salts.email, agent_id: salts.agent } : null,
      mail: { status: linkMailStateOf(workflow), attempts: mail?.attempts ?? 0, sent_at: isoOf(mail?.sentAt) },
    }),
  };
}
