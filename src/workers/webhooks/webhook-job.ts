import assert from 'node:assert/strict';
import { callbackSchema, stampTokenOf } from '../../shared/contract/stamp.ts';
import { type WorkflowCompleteResponse, workflowStampResponseOf } from '../../shared/contract/workflow.ts';
import { addressesUnder, workflowPath } from '../../shared/domain/addresses.ts';
import { decryptMetadata, deriveKey } from '../../shared/domain/encryption.ts';
import { isQualified } from '../../shared/domain/qualification.ts';
import { TransientError } from '../../shared/domain/service-error.ts';
import { type JobPayload, type JobRun, NotItsTurnError, placesOf, type StampItem } from '../../shared/queue/jobs.ts';
import type { Clock } from '../../shared/runtime/timers.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import type { WorkerTools } from '../tools.ts';
import { type SendWebhook, WebhookError } from './sender.ts';

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
  const shares = createDeliveryShares({ places: placesOf('webhooks', config.WORKER_CONCURRENCY), monotonic });
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
    const logFields = { requestId: job.requestId, event: job.event, webhookId: id };
    if ('waitMs' in place) {
      if (waitedMs(job) <= waitForMs) throw new NotItsTurnError(place.waitMs);
      log.error(
        { ...logFields, fault: 'other webhooks of the same product used all places' },
        'a webhook was given up: it waited too long',
      );
      return;
    }
    const startedAt = clock();
    try {
      const body = await makeBody();
      if (body === undefined) return;
      await sendWebhook({ url, id, event: job.event, body });
      log.info({ ...logFields, outcome: 'done' }, 'a webhook was delivered');
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      await judgeFailure(job, startedAt, run, error);
      log.error({ ...logFields, fault: error.message }, 'a webhook was given up');
    } finally {
      place.release();
    }
  };
}

/*
 * Queues the webhooks and the mail of a job before the job ends: either they are in the queue, or the job runs again (N3). All three throw a
 * TransientError if the queue did not confirm a job.
 */

/** Queues a webhook for those stamps and outputs whose callers asked for one. */
export async function announce(tools: WorkerTools, items: readonly StampItem[]): Promise<void> {
  const acceptedAt = tools.clock();
  await Promise.all(
    items.flatMap(({ tokenId, callback, requestId, output }) => {
      if (callback === undefined) return [];
      const [event, jobId] = output ? (['output.made', `output-${tokenId}`] as const) : (['stamp.made', `stamp-${tokenId}`] as const);
      return [send(tools, 'webhook', { event, tokenId, callback, acceptedAt, requestId }, jobId)];
    }),
  );
}

/** Queues the webhook for a completed workflow, if its caller asked for one. */
export async function announceCompleted(
  tools: WorkerTools,
  { _id: workflowId, callbackUrl }: WorkflowRecord,
  requestId: string,
): Promise<void> {
  if (callbackUrl === undefined) return;
  const acceptedAt = tools.clock();
  await send(tools, 'webhook', { event: 'workflow.completed', workflowId, acceptedAt, requestId }, `completed-${workflowId}`);
}

/** Queues the mail about a completed workflow, if the address of its client was confirmed (W27). */
export async function mailCompleted(
  tools: WorkerTools,
  { _id: workflowId, emailVerifiedAt, redactedAt }: WorkflowRecord,
  { requestId, baseUrl }: JobPayload<'workflow-completion'>,
): Promise<void> {
  if (!emailVerifiedAt || redactedAt) return;
  await send(tools, 'completion-mail', { workflowId, acceptedAt: tools.clock(), requestId, baseUrl }, `completion-mail-${workflowId}`);
}

async function send<Name extends 'webhook' | 'completion-mail'>(
  { jobs }: WorkerTools,
  ...job: [name: Name, payload: JobPayload<Name>, jobId: string]
): Promise<void> {
  if ((await jobs.send(...job)) === 'unanswered') throw new TransientError(`the queue did not confirm a job: ${job[0]}`);
}

/** A product may use at most a quarter of a worker's places for webhooks, and each host at most a quarter of its product's places. */
const quarterOf = (places: number) => Math.ceil(places / 4);

/**
 * A webhook without a place asks again after this pause, or later if many wait: all webhooks of one product together ask at most 100 times a second.
 */
const shortestPauseMs = 1_000;
const betweenAsksMs = 10;

interface Share {
  underWay: number;
  /** The number of deliveries in progress for each host. */
  readonly atHost: Map<string, number>;
  /** The latest time at which a waiting webhook asks again, by the monotonic clock. */
  lastAskAt: number;
}

/** The place of one delivery. Call `release` exactly once: a second call throws. */
export interface Place {
  release(): void;
}

interface Shares {
  /** Returns a place for one delivery, or the milliseconds after which the webhook should ask again. */
  take(product: string, host: string): Place | { readonly waitMs: number };
}

/**
 * Counts the current deliveries of this worker, so that one product's receivers that do not answer never take all places (N5). Shares are never
 * removed: there is at most one for each product with a service token.
 */
export function createDeliveryShares({ places, monotonic }: { places: number; monotonic: Clock }): Shares {
  const mostOfProduct = quarterOf(places);
  const mostAtHost = quarterOf(mostOfProduct);
  const shares = new Map<string, Share>();

  return {
    take: (product, host) => {
      const share = shares.get(product) ?? { underWay: 0, atHost: new Map(), lastAskAt: 0 };
      shares.set(product, share);
      const atHost = share.atHost.get(host) ?? 0;
      if (share.underWay >= mostOfProduct || atHost >= mostAtHost) {
        share.lastAskAt = Math.max(monotonic() + shortestPauseMs, share.lastAskAt + betweenAsksMs);
        return { waitMs: Math.ceil(share.lastAskAt - monotonic()) };
      }
      share.underWay += 1;
      share.atHost.set(host, atHost + 1);
      let isReleased = false;
      return {
        release: () => {
          assert(!isReleased, 'a place is released only once');
          isReleased = true;
          share.underWay -= 1;
          const left = share.atHost.get(host)! - 1;
          if (left > 0) share.atHost.set(host, left);
          else share.atHost.delete(host);
        },
      };
    },
  };
}
