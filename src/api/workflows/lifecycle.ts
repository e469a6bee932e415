import { randomUUID } from 'node:crypto';
import type {
  WorkflowCompleteResponse,
  WorkflowRedactResponse,
  WorkflowResendResponse,
  WorkflowStartRequest,
  WorkflowStartResponse,
} from '../../shared/contract/workflow.ts';
import { workflowPath, workflowStatePath } from '../../shared/domain/addresses.ts';
import { redactedEmail } from '../../shared/domain/recipient.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { needsVerifiedEmail } from '../../shared/domain/stamp.ts';
import { readStatus } from '../../shared/domain/workflow-state.ts';
import type { Acceptance } from '../../shared/queue/sender.ts';
import { snapshotOf, type WorkflowRecord } from '../../shared/store/workflows.ts';
import { identify, type PassLimit, startDeadline } from '../stamps/index.ts';
import { checkState, checkTier, digestOfToken, findWorkflow, tierUnavailable } from './access.ts';
import { checkCanMail, mailChallenge } from './mail-links.ts';
import { isSealed } from './proof.ts';
import type { WorkflowTools } from './workflow-tools.ts';

const hourMs = 3_600_000;

interface StartCommand {
  readonly request: WorkflowStartRequest;
  /** The product of the caller, if it asks for webhooks. */
  readonly product?: string | undefined;
  /** The owner of the idempotency keys. */
  readonly callerId: string;
  readonly requestId: string;
  readonly idempotencyKey: string | undefined;
  readonly passLimit: PassLimit;
  /** The base URL of the service, for the link in the mail: `PUBLIC_BASE_URL`, or the origin on which it listens. */
  readonly baseUrl: string;
}

/** The owner of the idempotency keys of a start. The keys of a product are its own, also if strangers share its address. */
export const starterIdOf = (product: string | undefined, address = ''): string =>
  product === undefined ? `workflow-start:${address}` : `workflow-start-of-product:${product}`;

/**
 * Starts a workflow. Before the answer, the workflow is stored and the mail with its challenge is durably queued (W12). The token is returned once
 * and only its hash is stored. A repeated request with the same idempotency key derives the same token again.
 *
 * @throws ServiceError `mail_unavailable` in the tiers that need a confirmed address; `rate_limited`, `queue_unavailable`, `store_unavailable`,
 *   `idempotency_key_reused`; `mail_pending` if the workflow is started but the queue did not confirm the mail
 */
export async function startWorkflow(
  tools: WorkflowTools,
  command: StartCommand,
): Promise<{ answer: WorkflowStartResponse; isReplayed: boolean }> {
  const { config, store, jobs, clock, addressOf } = tools;
  const { request, product, callerId: caller, idempotencyKey: key, requestId, passLimit, baseUrl } = command;
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
    callbackUrl: request.callback_url ?? undefined,
    callbackProduct: request.callback_url ? product : undefined,
    tier: request.tier,
    challengeId: randomUUID(),
    createdAt: new Date(now),
    expiresAt: new Date(now + config.WORKFLOW_TTL_HOURS * hourMs),
  });
  let mail: Acceptance = 'acknowledged';
  try {
    if (!stored.mail?.sentAt) mail = await mailChallenge(tools, { workflowId, challengeId: stored.challengeId, requestId, baseUrl });
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

interface ResendCommand {
  readonly workflow: WorkflowRecord;
  readonly requestId: string;
  readonly idempotencyKey: string | undefined;
  readonly passLimit: PassLimit;
  /** The base URL of the service, for the link in the mail. */
  readonly baseUrl: string;
}

/**
 * Mails a new link and makes the old link invalid (W6). This also works if the old link has expired or was tried too often.
 *
 * @throws ServiceError `conflict`, `gone`, `rate_limited`, `mail_unavailable`, `idempotency_key_reused`, `queue_unavailable`, `store_unavailable`;
 *   `mail_pending` if the queue did not confirm the mail
 */
export async function resendLink(
  tools: WorkflowTools,
  command: ResendCommand,
): Promise<{ answer: WorkflowResendResponse; isReplayed: boolean }> {
  const { store, clock, addressOf } = tools;
  const { workflow, requestId, idempotencyKey: key, passLimit, baseUrl } = command;
  const now = clock();
  checkState('resend', workflow, now);
  await checkCanMail(tools);
  const caller = `workflow:${workflow._id}`;
  const identity = await identify(tools, { caller, key, operation: 'workflow_resend', content: null, passLimit });
  const { resourceId: challengeId, isRepeated } = identity;
  const current = await store.workflows.replaceChallenge(workflow._id, challengeId, new Date(now));
  if (current) checkState('resend', current, now);
  const mail = await mailChallenge(tools, { workflowId: workflow._id, challengeId, requestId, baseUrl });
  if (mail === 'unanswered') {
    throw new ServiceError('mail_pending', 'The old link has ended, but the queue did not confirm the mail with the new one.', {
      retryAfterSeconds: 5,
      members: { status_url: addressOf(workflowStatePath(workflow._id)) },
    });
  }
  return { answer: { workflow_id: workflow._id, otp_sent_to: workflow.email, status: 'pending' }, isReplayed: isRepeated };
}

/**
 * Completes a workflow. A worker closes it; several callers may wait for the same completion. Completing again gives the same answer (W4).
 *
 * @throws ServiceError `conflict`, `gone`, `tier_unavailable`, `provider_failed` if the root could not be stamped, `internal_error` if the stamps
 *   that closed it do not verify, `completion_pending` if the workflow is not completed in time, or the queue did not confirm the job (complete it
 *   again to continue), `queue_unavailable`, `store_unavailable`
 */
export async function requestCompletion(
  tools: WorkflowTools,
  workflow: WorkflowRecord,
  { requestId, baseUrl }: { requestId: string; baseUrl: string },
): Promise<WorkflowCompleteResponse> {
  const { submission, clock, addressOf } = tools;
  const now = clock();
  if (checkState('complete', workflow, now) === 'again') return completedAnswerOf(tools, workflow);
  await checkTier(workflow, tools);
  const { _id: workflowId } = workflow;
  const deadline = startDeadline(tools);
  const reply = await submission.complete({ workflowId, acceptedAt: now, requestId, baseUrl }, deadline);
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
  const { addressOf } = tools;
  const { _id: workflowId, root, completedAt } = workflow;
  if (!root || !completedAt) throw new ServiceError('internal_error', 'The workflow is completed without a root.');
  if (!(await isSealed(tools, workflow))) {
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
