import { type FailedJob, isStampJob, type StampReply } from '../../shared/queue/jobs.ts';
import type { WorkerTools } from '../tools.ts';

/** Records that the stamps of a job are not made, and tells the callers that still wait. @throws ServiceError `store_unavailable` */
export async function tellFailed(tools: WorkerTools, job: FailedJob): Promise<void> {
  const replies = await recordFailedStamps(tools, job);
  if (isStampJob(job) && replies.length > 0) await tools.sendReplies(job.payload.replyTo, replies);
}

/**
 * Records that the stamps of a job are not made. `verify_url` then shows the failure, and later outputs no longer wait for them. An operator may
 * retry the job. For other kinds of jobs it does nothing. It may be repeated.
 *
 * @returns the failure replies, only for stamps that do not exist
 * @throws ServiceError `store_unavailable`
 */
export async function recordFailedStamps({ store, outputOrder, clock }: WorkerTools, job: FailedJob): Promise<readonly StampReply[]> {
  if (!isStampJob(job)) return [];
  const { items } = job.payload;
  const made = new Set((await store.stamps.findMany(items.map(({ tokenId }) => tokenId))).map(({ tokenId }) => tokenId));
  const missing = items.map(({ tokenId }) => tokenId).filter((tokenId) => !made.has(tokenId));
  const at = new Date(clock());
  await store.refusals.insertOnce(missing.map((tokenId) => ({ tokenId, reason: 'stamp_failed', at })));
  const workflowIds = new Set(items.flatMap(({ output }) => output?.workflowId ?? []));
  for (const workflowId of workflowIds) await outputOrder.leave(workflowId, [job.id]);
  return missing.map((tokenId) => ({ outcome: 'failed', tokenId, code: 'stamp_failed' }));
}
