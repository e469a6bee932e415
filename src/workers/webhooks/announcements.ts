import { TransientError } from '../../shared/domain/service-error.ts';
import type { JobSender } from '../../shared/queue/job-sender.ts';
import type { JobPayload } from '../../shared/queue/jobs.ts';
import type { StampItem } from '../../shared/queue/stamp-job.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';

/** Queues the webhooks and the mail of a job before the job ends: either they are in the queue, or the job runs again (N3). */
export function createAnnouncements({ jobs, clock }: { jobs: Pick<JobSender, 'send'>; clock: Clock }) {
  async function send<Name extends 'webhook' | 'completion-mail'>(...job: Parameters<typeof jobs.send<Name>>): Promise<void> {
    if ((await jobs.send(...job)) === 'unanswered') throw new TransientError(`the queue did not confirm a job: ${job[0]}`);
  }

  return {
    /** Queues a webhook for those stamps and outputs whose callers asked for one. */
    announce: async (items: readonly StampItem[]): Promise<void> => {
      const acceptedAt = clock();
      await Promise.all(
        items.flatMap(({ tokenId, callback, requestId, output }) => {
          if (callback === undefined) return [];
          const [event, jobId] = output ? (['output.made', `output-${tokenId}`] as const) : (['stamp.made', `stamp-${tokenId}`] as const);
          return [send('webhook', { event, tokenId, callback, acceptedAt, requestId }, jobId)];
        }),
      );
    },
    /** Queues the webhook, if the caller asked for one, and the mail to the client, if its address was confirmed (W27). */
    announceCompleted: async (workflow: WorkflowRecord, { requestId, baseUrl }: JobPayload<'workflow-completion'>): Promise<void> => {
      const { _id: workflowId, callbackUrl, emailVerifiedAt, redactedAt } = workflow;
      const job = { workflowId, acceptedAt: clock(), requestId };
      if (callbackUrl !== undefined) await send('webhook', { event: 'workflow.completed', ...job }, `completed-${workflowId}`);
      if (emailVerifiedAt && !redactedAt) await send('completion-mail', { ...job, baseUrl }, `completion-mail-${workflowId}`);
    },
  };
}
