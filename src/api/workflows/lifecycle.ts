import { randomUUID } from 'node:crypto';
import { parseAsWritten } from '../../shared/contract/fields.ts';
import type {
  WorkflowRedactResponse,
  WorkflowResendResponse,
  WorkflowStartRequest,
  WorkflowStartResponse,
  WorkflowStateResponse,
} from '../../shared/contract/workflow.ts';
import { workflowPath, workflowStatePath } from '../../shared/domain/addresses.ts';
import { redactedEmail } from '../../shared/domain/recipient.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { needsVerifiedEmail } from '../../shared/domain/stamp.ts';
import { readStatus } from '../../shared/domain/workflow-state.ts';
import type { Acceptance } from '../../shared/queue/sender.ts';
import { linkMailStateOf, snapshotOf, type WorkflowRecord } from '../../shared/store/workflows.ts';
import { identify, type PassLimit } from '../stamps/index.ts';
import { checkState, digestOfToken } from './access.ts';
import { checkCanMail, mailChallenge } from './mail-links.ts';
import type { WorkflowTools } from './workflow-tools.ts';

const hourMs = 3_600_000;

/** A request that changes a workflow. */
export interface WorkflowCommand {
  readonly requestId: string;
  readonly idempotencyKey: string | undefined;
  /** The base URL of the service, for links in mails: `PUBLIC_BASE_URL`, or the origin on which it listens. */
  readonly baseUrl: string;
}

/** An answer, and whether an earlier request with the same idempotency key got it. */
export interface Answered<Answer> {
  readonly answer: Answer;
  readonly isReplayed: boolean;
}

interface StartCommand extends WorkflowCommand {
  readonly request: WorkflowStartRequest;
  /** The product of the caller, if it asks for webhooks. */
  readonly product?: string | undefined;
  /** The owner of the idempotency key: a product, or an address. */
  readonly callerId: string;
  readonly passLimit: PassLimit;
}

/**
 * Starts a workflow. Before the answer, the workflow is stored and the mail with its challenge is durably queued (W12). The token is returned once
 * and only its hash is stored. A repeated request with the same idempotency key derives the same token again.
 *
 * @throws ServiceError `mail_unavailable` in the tiers that need a confirmed address; `rate_limited`, `queue_unavailable`, `store_unavailable`,
 *   `idempotency_key_reused`; `mail_pending` if the workflow is started but the queue did not confirm the mail
 */
export async function startWorkflow(tools: WorkflowTools, command: StartCommand): Promise<Answered<WorkflowStartResponse>> {
  const { config, store, jobs, clock, addressOf } = tools;
  const { request, product, callerId: caller, idempotencyKey: key, passLimit } = command;
  jobs.checkConnection();
  if (needsVerifiedEmail(request.tier)) await checkCanMail(tools);
  const identity = await identify(tools, { caller, key, operation: 'workflow_start', content: request, passLimit });
  const { resourceId: workflowId } = identity;
  const token = identity.secret();
  const now = clock();
  const { stored, isNew } = await store.workflows.create({
    _id: workflowId,
    tokenSha256: digestOfToken(token),
    email: request.user_email,
    agentId: request.agent_id,
    briefingHash: request.briefing_hash,
    briefingMetadata: request.briefing_metadata ? JSON.stringify(request.briefing_metadata) : undefined,
    locale: request.locale ?? undefined,
    callbackUrl: request.callback_url ?? undefined,
    callbackProduct: request.callback_url ? product : undefined,
    tier: request.tier,
    challengeId: randomUUID(),
    createdAt: new Date(now),
    expiresAt: new Date(now + config.WORKFLOW_TTL_HOURS * hourMs),
  });
  let mail: Acceptance = 'acknowledged';
  try {
    if (!stored.mail?.sentAt) mail = await mailChallenge(tools, workflowId, stored.challengeId, command);
  } catch (error) {
    if (isNew && key === undefined) await takeBack(tools, workflowId);
    throw error;
  }
  if (isNew) store.counters.add({ workflowsStarted: 1 }, now);
  if (mail === 'unanswered') {
    const detail = 'The workflow is started, but the queue did not confirm the mail. If no mail comes, ask for a new link.';
    throw new ServiceError('mail_pending', detail, {
      retryAfterSeconds: 5,
      members: { workflow_id: workflowId, workflow_token: token, status_url: addressOf(workflowStatePath(workflowId)) },
    });
  }
  return {
    answer: {
      workflow_id: workflowId,
      workflow_token: token,
      otp_sent_to: request.user_email,
      expires_at: stored.expiresAt.toISOString(),
      status: 'pending',
      page_url: addressOf(workflowPath(workflowId)),
    },
    isReplayed: !isNew,
  };
}

/**
 * Removes a workflow and its e-mail address if the answer is an error and the request had no Idempotency-Key: nobody can then repeat the request to
 * get the token.
 */
async function takeBack({ store, log }: WorkflowTools, workflowId: string): Promise<void> {
  try {
    await store.workflows.remove(workflowId);
  } catch (error) {
    log.error({ err: error, workflowId }, 'could not remove a workflow after its start failed');
  }
}

/**
 * Mails a new link and makes the old link invalid (W6). This also works if the old link has expired or was tried too often.
 *
 * @throws ServiceError `conflict`, `gone`, `rate_limited`, `mail_unavailable`, `idempotency_key_reused`, `queue_unavailable`, `store_unavailable`;
 *   `mail_pending` if the queue did not confirm the mail
 */
export async function resendLink(
  tools: WorkflowTools,
  workflow: WorkflowRecord,
  command: WorkflowCommand & { readonly passLimit: PassLimit },
): Promise<Answered<WorkflowResendResponse>> {
  const { store, clock, addressOf } = tools;
  const { _id: workflowId } = workflow;
  const now = clock();
  checkState('resend', workflow, now);
  await checkCanMail(tools);
  const { resourceId: challengeId, isRepeated } = await identifyFor(tools, workflow, 'resend', command);
  const current = await store.workflows.replaceChallenge(workflowId, challengeId, new Date(now));
  if (current) checkState('resend', current, now);
  const mail = await mailChallenge(tools, workflowId, challengeId, command);
  if (mail === 'unanswered') {
    throw new ServiceError('mail_pending', 'The old link has ended, but the queue did not confirm the mail with the new one.', {
      retryAfterSeconds: 5,
      members: { status_url: addressOf(workflowStatePath(workflowId)) },
    });
  }
  return { answer: { workflow_id: workflowId, otp_sent_to: workflow.email, status: 'pending' }, isReplayed: isRepeated };
}

/**
 * Destroys the key of a workflow. The key encrypts the e-mail address, the agent's id and all metadata, so these can no longer be read, not even in
 * copies of the queue and the store. Hashes and chain stay (W10). If a call was interrupted, a repeated call removes the rest.
 *
 * @throws ServiceError `store_unavailable`
 */
export async function redactWorkflow(
  tools: WorkflowTools,
  workflow: WorkflowRecord,
  command: WorkflowCommand,
): Promise<Answered<WorkflowRedactResponse>> {
  const { store, clock } = tools;
  const { _id: workflowId } = workflow;
  await store.workflows.redact(workflowId, new Date(clock()));
  await store.outputs.forgetMetadata(workflowId);
  const status = readStatus(snapshotOf(workflow), clock());
  const answer = { workflow_id: workflowId, status, user_email: redactedEmail } as const;
  return { answer, isReplayed: (await identifyFor(tools, workflow, 'redact', command)).isRepeated };
}

/** Identifies a request for one workflow. Operations that may be repeated do this at their end, so that a failed request does not use up its key. */
export const identifyFor = (
  tools: WorkflowTools,
  { _id }: WorkflowRecord,
  operation: 'complete' | 'redact' | 'resend',
  { idempotencyKey: key, passLimit }: Pick<WorkflowCommand, 'idempotencyKey'> & { readonly passLimit?: PassLimit },
) => identify(tools, { caller: `workflow:${_id}`, key, operation: `workflow_${operation}`, content: null, passLimit });

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

const isoOf = (date: Date | undefined): string | null => date?.toISOString() ?? null;
