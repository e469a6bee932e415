import { callbackSchema, stampTokenOf } from '../../shared/contract/stamp.ts';
import { type WorkflowCompleteResponse, workflowStampResponseOf } from '../../shared/contract/workflow.ts';
import { addressesUnder, workflowPath } from '../../shared/domain/addresses.ts';
import { decryptMetadata, deriveKey } from '../../shared/domain/encryption.ts';
import { isQualified } from '../../shared/domain/qualification.ts';
import { TransientError } from '../../shared/domain/service-error.ts';
import { type JobPayload, type JobRun, NotItsTurnError, placesOf } from '../../shared/queue/jobs.ts';
import type { WorkerTools } from '../tools.ts';
import { type SendWebhook, WebhookError } from './sender.ts';
import { createShares } from './shares.ts';

/** How long a webhook is retried after the first try. */
const tryForMs = 24 * 3_600_000;
/** The maximum wait for a place, so that many webhooks to receivers that do not answer cannot fill Redis. */
const waitForMs = 2 * tryForMs;
/** A workflow's webhook is queued before its event happens. If the event has not happened after this time, it never will. */
const comesTrueWithinMs = 60_000;

/** The event has not happened yet. */
class NotYetError extends TransientError {
  override readonly name = 'NotYetError';
}

type WebhookJob = JobPayload<'webhook'>;
type StampWebhook = Extract<WebhookJob, { tokenId: string }>;

/** The URL of a webhook and a function that makes its body. The function runs only when the webhook has a place. */
interface Addressed {
  readonly url: string;
  /** The product that asked for the webhook. */
  readonly product: string;
  readonly id: string;
  readonly body: () => Promise<string | undefined>;
}

/**
 * Sends a webhook (N3). Its body is the answer that the API would give to the caller. It may be delivered more than once: a receiver recognises
 * duplicates by the id. It is retried for a day with growing pauses. If no place is free for its product or host, it waits in the queue for at most
 * two days.
 *
 * @throws WebhookError, NotYetError if it should be retried; NotItsTurnError; ServiceError `store_unavailable`
 */
export function createWebhookProcessor(tools: WorkerTools, sendWebhook: SendWebhook): (job: WebhookJob, run: JobRun) => Promise<void> {
  const { config, store, tokenJudge, clock, monotonic, log } = tools;
  const { stamps, outputs, workflows, keys } = store;
  const shares = createShares({ places: placesOf('webhooks', config.WORKER_CONCURRENCY), monotonic });
  const addressOf = addressesUnder(config.PUBLIC_BASE_URL);
  const workerStartedAt = { clock: clock(), monotonic: monotonic() };
  /** How long this worker runs. */
  const runsForMs = () => monotonic() - workerStartedAt.monotonic;

  async function bodyOfStamp(tokenId: string, sealedUrl: string | null): Promise<string | undefined> {
    const stored = await stamps.find(tokenId);
    if (!stored) return undefined;
    const [proof] = stored.proofs;
    // The stored token is judged again for each webhook.
    const judged = await tokenJudge.judge(proof.token, { provider: proof.provider, imprints: [stored.imprint] });
    if (judged.ok)
      return JSON.stringify(
        stampTokenOf(stored, { ...proof, isQualified: isQualified(judged.qualification), qualification: judged.qualification }, sealedUrl),
      );
    log.error({ tokenId, code: judged.code }, 'a stored stamp does not verify, so no webhook is sent for it');
    return undefined;
  }

  /** Nothing about a redacted workflow leaves the house, also if it was queued before (N4). */
  function noteRedacted({ requestId, event }: WebhookJob): void {
    log.info({ requestId, event, outcome: 'refused', code: 'email_redacted' }, 'a webhook was dropped: its workflow is redacted');
  }

  async function bodyOfOutput(job: StampWebhook): Promise<string | undefined> {
    const [output] = await outputs.findByTokens([job.tokenId]);
    if (!output) return undefined;
    if ((await workflows.find(output.workflowId))?.redactedAt) return void noteRedacted(job);
    return JSON.stringify(workflowStampResponseOf(output, addressOf));
  }

  async function ofStamp(job: StampWebhook): Promise<Addressed | undefined> {
    const { tokenId, callback, event } = job;
    const said = decryptMetadata(deriveKey(await keys.secret('stamp-metadata'), tokenId), tokenId, callback);
    if (said === undefined) return undefined;
    const { url, sealed_storage_url, product } = callbackSchema.parse(JSON.parse(said));
    if (event === 'output.made') return { url, product, id: `output_${tokenId}`, body: () => bodyOfOutput(job) };
    return { url, product, id: `stamp_${tokenId}`, body: () => bodyOfStamp(tokenId, sealed_storage_url) };
  }

  async function ofWorkflow(job: Exclude<WebhookJob, StampWebhook>, isRetry: boolean): Promise<Addressed | undefined> {
    const { workflowId, event, acceptedAt } = job;
    const workflow = await workflows.find(workflowId);
    if (workflow?.redactedAt) return void noteRedacted(job);
    if (!workflow?.callbackUrl || workflow.callbackProduct === undefined) return undefined;
    const { callbackUrl: url, callbackProduct: product, emailVerifiedAt, completedAt, root, status } = workflow;
    const isDone = event === 'workflow.confirmed' ? emailVerifiedAt !== undefined : status === 'completed';
    if (!isDone) {
      // A first run proves nothing: the clock of this worker may be ahead.
      if (isRetry && clock() - acceptedAt > comesTrueWithinMs) return undefined;
      throw new NotYetError(`${event} has not happened yet`);
    }
    const completed: WorkflowCompleteResponse | undefined = completedAt && {
      workflow_id: workflowId,
      status: 'completed',
      output_count: root?.outputCount ?? 0,
      verify_url: addressOf(workflowPath(workflowId)),
      completed_at: completedAt.toISOString(),
    };
    const answer = event === 'workflow.completed' ? completed : { workflow_id: workflowId, status: 'active' };
    return { url, product, id: `${event.replace('workflow.', '')}_${workflowId}`, body: async () => JSON.stringify(answer) };
  }

  /** @throws WebhookError if it should be retried */
  async function judgeFailure(job: WebhookJob, startedAt: number, run: JobRun, error: WebhookError): Promise<void> {
    const now = clock();
    // If a clock was wrong, the stored times may be in the future, or the first try before the job was accepted.
    const firstTriedAt = Math.min(Math.max(job.firstTriedAt ?? startedAt, job.acceptedAt), now);
    // The second time does not jump if somebody sets the clock.
    const triedForMs = Math.min(now, workerStartedAt.clock + runsForMs()) - firstTriedAt;
    if (error.isFinal || triedForMs >= tryForMs) return;
    if (job.firstTriedAt !== firstTriedAt) await run.keepOnly({ ...job, firstTriedAt });
    throw error;
  }

  /** How long a webhook has waited for a place. */
  function waitedMs({ firstTriedAt, acceptedAt }: WebhookJob): number {
    // The time before this worker started does not count: perhaps no worker ran. So a clock that jumps ahead does not end the wait.
    return Math.min(clock() - (firstTriedAt ?? acceptedAt), runsForMs());
  }

  return async (job, run) => {
    const webhook = 'tokenId' in job ? await ofStamp(job) : await ofWorkflow(job, run.isRetry);
    if (!webhook) return;
    const { url, product, id, body: makeBody } = webhook;
    const place = shares.take(product, new URL(url).host);
    const told = { requestId: job.requestId, event: job.event, webhookId: id };
    if ('waitMs' in place) {
      if (waitedMs(job) <= waitForMs) throw new NotItsTurnError(place.waitMs);
      log.error({ ...told, fault: 'other webhooks of the same product used all places' }, 'a webhook was given up: it waited too long');
      return;
    }
    const startedAt = clock();
    try {
      const body = await makeBody();
      if (body === undefined) return;
      await sendWebhook({ url, id, event: job.event, body });
      log.info({ ...told, outcome: 'done' }, 'a webhook was delivered');
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      await judgeFailure(job, startedAt, run, error);
      log.error({ ...told, fault: error.message }, 'a webhook was given up');
    } finally {
      place.release();
    }
  };
}
