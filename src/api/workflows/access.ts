import { createHash, timingSafeEqual } from 'node:crypto';
import { parseAsWritten } from '../../shared/contract/fields.ts';
import type { WorkflowStateResponse } from '../../shared/contract/workflow.ts';
import { workflowPath } from '../../shared/domain/addresses.ts';
import type { ChallengeRefusal } from '../../shared/domain/challenge.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { needsQualifiedProvider } from '../../shared/domain/stamp.ts';
import { answerTo, readStatus, type WorkflowOperation, type WorkflowRefusal } from '../../shared/domain/workflow-state.ts';
import { linkMailStateOf, snapshotOf, type WorkflowRecord } from '../../shared/store/workflows.ts';
import { identify, startDeadline, storeBefore } from '../stamps/index.ts';
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

/** A sentence for each reason why a workflow refuses an operation or a challenge. */
const sentences: Readonly<Record<WorkflowRefusal['reason'] | ChallengeRefusal, string>> = {
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

/** Converts a refusal by the state table into an error: `conflict` or `gone`, with the reason as a member. */
export function refusalError({ kind, reason }: WorkflowRefusal, operation?: WorkflowOperation): ServiceError {
  const sentence = reason === 'email_not_verified' && operation === 'complete' ? notCompletable : sentences[reason];
  return new ServiceError(kind, sentence, { members: { reason } });
}

/** The error for a challenge that can no longer be answered (W6). */
export const challengeError = (reason: WorkflowRefusal['reason'] | ChallengeRefusal): ServiceError =>
  new ServiceError('gone', sentences[reason], { members: { reason } });
