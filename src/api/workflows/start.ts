import { randomUUID } from 'node:crypto';
import type { WorkflowStartRequest, WorkflowStartResponse } from '../../shared/contract/workflow.ts';
import { workflowStatePath } from '../../shared/domain/addresses.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { needsVerifiedEmail } from '../../shared/domain/stamp.ts';
import type { Acceptance } from '../../shared/queue/sender.ts';
import { identify, type PassLimit } from '../stamps/index.ts';
import { digestOfToken } from './access.ts';
import { checkCanMail, mailChallenge } from './challenge-mailer.ts';
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
