import { TransientError } from '../../shared/domain/service-error.ts';
import type { JobPayload, StampItem } from '../../shared/queue/jobs.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import type { WorkerTools } from '../tools.ts';

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
