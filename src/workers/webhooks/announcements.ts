import { TransientError } from '../../shared/domain/service-error.ts';
import type { JobPayload, StampItem } from '../../shared/queue/jobs.ts';
import type { JobSender } from '../../shared/queue/sender.ts';
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
    announceCompleted: async ({ _id: workflowId, callbackUrl }: WorkflowRecord, requestId: string): Promise<void> => {
      if (callbackUrl === undefined) return;
      await send('webhook', { event: 'workflow.completed', workflowId, acceptedAt: clock(), requestId }, `completed-${workflowId}`);
    },
    /** Queues the mail about a completed workflow, if the address of its client was confirmed (W27). */
    mailCompleted: async (workflow: WorkflowRecord, { requestId, baseUrl }: JobPayload<'workflow-completion'>): Promise<void> => {
      const { _id: workflowId, emailVerifiedAt, redactedAt } = workflow;
      if (!emailVerifiedAt || redactedAt) return;
      await send('completion-mail', { workflowId, acceptedAt: clock(), requestId, baseUrl }, `completion-mail-${workflowId}`);
    },
  };
}
