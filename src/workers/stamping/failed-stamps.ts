import type { FailedJob } from '../../shared/queue/consumer.ts';
import type { OutputOrder } from '../../shared/queue/output-order.ts';
import type { StampReply } from '../../shared/queue/stamp-job.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { RefusalStore } from '../../shared/store/refusals.ts';

export interface FailedStampsDeps {
  readonly refusals: Pick<RefusalStore, 'insertOnce'>;
  readonly outputOrder: Pick<OutputOrder, 'leave'>;
  readonly sendReplies: (replyTo: string, replies: readonly StampReply[]) => Promise<void>;
  readonly clock: Clock;
}

/**
 * Records that the stamps of a job are not made: `verify_url` says so, their callers are told, and no output waits for them any more. An
 * operator may retry the job. Other kinds of job have nothing to record. May be repeated.
 *
 * @throws ServiceError `store_unavailable`
 */
export async function recordFailedStamps({ refusals, outputOrder, sendReplies, clock }: FailedStampsDeps, job: FailedJob): Promise<void> {
  if (job.name !== 'stamp') return;
  const { replyTo, items } = job.payload;
  const at = new Date(clock());
  await refusals.insertOnce(items.map(({ tokenId }) => ({ tokenId, reason: 'stamp_failed', at })));
  const workflowIds = new Set(items.flatMap(({ output }) => output?.workflowId ?? []));
  for (const workflowId of workflowIds) await outputOrder.leave(workflowId, [job.id]);
  await sendReplies(
    replyTo,
    items.map(({ tokenId }) => ({ outcome: 'failed', tokenId, code: 'stamp_failed' })),
  );
}
