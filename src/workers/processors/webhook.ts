import type { KeyObject } from 'node:crypto';
import { stampTokenOf } from '../../shared/contract/stamp.ts';
import { callbackSchema } from '../../shared/contract/webhook.ts';
import type { WorkflowCompleteResponse } from '../../shared/contract/workflow.ts';
import { workflowPath } from '../../shared/domain/addresses.ts';
import { decryptMetadata, deriveKey } from '../../shared/domain/encryption.ts';
import type { JobPayload } from '../../shared/queue/jobs.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { StampStore } from '../../shared/store/stamps.ts';
import type { WorkflowStore } from '../../shared/store/workflows.ts';
import type { TokenJudge } from '../../shared/trust/judge.ts';
import { type SendWebhook, type Webhook, WebhookError } from '../webhooks/sender.ts';

export interface WebhookDeps {
  readonly stamps: Pick<StampStore, 'find'>;
  readonly workflows: Pick<WorkflowStore, 'find'>;
  readonly stampKey: () => Promise<KeyObject>;
  readonly tokenJudge: TokenJudge;
  readonly sendWebhook: SendWebhook;
  readonly publicBaseUrl: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long delivery is tried. */
const tryForMs = 24 * 3_600_000;
/** The job of a workflow's event is sent before what it tells of is done: one that has not come true by then never does. */
const comesTrueWithinMs = 60_000;

/** What it tells of is not done yet. */
class NotYetError extends Error {
  override readonly name = 'NotYetError';
}

/**
 * Sends a webhook (N3): the answer that the caller would have had, signed. At least once: a receiver knows it again by its id. It is tried again with
 * growing pauses for a day.
 *
 * @throws WebhookError, NotYetError when it is to be tried again; ServiceError `store_unavailable`
 */
export function createWebhookProcessor(deps: WebhookDeps): (job: JobPayload<'webhook'>) => Promise<void> {
  const { stamps, workflows, stampKey, tokenJudge, sendWebhook, publicBaseUrl = '', clock, log } = deps;

  async function ofStamp({
    tokenId,
    callback,
    event,
  }: Extract<JobPayload<'webhook'>, { event: 'stamp.made' }>): Promise<Webhook | undefined> {
    const stored = await stamps.find(tokenId);
    const said = decryptMetadata(deriveKey(await stampKey(), tokenId), tokenId, callback);
    if (!stored || said === undefined) return undefined;
    const { url, sealed_storage_url } = callbackSchema.parse(JSON.parse(said));
    const [proof] = stored.proofs;
    // Told anew, so judged anew (V9).
    const judged = await tokenJudge.judge(proof.token, proof.provider, stored.imprint);
    if (!judged.ok) {
      log.error({ tokenId, code: judged.code }, 'a stored stamp does not verify, and no webhook tells of it');
      return undefined;
    }
    const answer = stampTokenOf(stored, { ...proof, isQualified: judged.isQualified }, sealed_storage_url);
    return { url, id: `stamp_${tokenId}`, event, body: JSON.stringify(answer) };
  }

  async function ofWorkflow({
    workflowId,
    event,
    acceptedAt,
  }: Exclude<JobPayload<'webhook'>, { event: 'stamp.made' }>): Promise<Webhook | undefined> {
    const workflow = await workflows.find(workflowId);
    if (!workflow?.callbackUrl) return undefined;
    const { callbackUrl: url, emailVerifiedAt, completedAt, root, status } = workflow;
    const isDone = event === 'workflow.confirmed' ? emailVerifiedAt !== undefined : status === 'completed';
    if (!isDone) {
      if (clock() - acceptedAt > comesTrueWithinMs) return undefined;
      throw new NotYetError(`${event} is not so yet`);
    }
    const completed: WorkflowCompleteResponse | undefined = completedAt && {
      workflow_id: workflowId,
      status: 'completed',
      output_count: root?.outputCount ?? 0,
      verify_url: `${publicBaseUrl}${workflowPath(workflowId)}`,
      completed_at: completedAt.toISOString(),
    };
    const answer = event === 'workflow.completed' ? completed : { workflow_id: workflowId, status: 'active' };
    return { url, id: `${event.replace('workflow.', '')}_${workflowId}`, event, body: JSON.stringify(answer) };
  }

  return async (job) => {
    const { event, requestId, acceptedAt } = job;
    const webhook = job.event === 'stamp.made' ? await ofStamp(job) : await ofWorkflow(job);
    if (!webhook) return;
    try {
      await sendWebhook(webhook);
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      if (!error.isFinal && clock() - acceptedAt < tryForMs) throw error;
      log.error({ requestId, event, webhookId: webhook.id, fault: error.message }, 'a webhook was given up');
      return;
    }
    log.info({ requestId, event, webhookId: webhook.id, outcome: 'done' }, 'a webhook was taken');
  };
}
