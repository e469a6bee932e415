import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Acceptance } from '../../shared/queue/sender.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/** Queues the mails with the links that confirm an e-mail address. Workers send the mails (W12). */
export interface ChallengeMailer {
  /** Checks whether mail can be sent. @throws ServiceError `mail_unavailable` if no worker has a mail server */
  checkCanMail(): Promise<void>;
  /**
   * Queues the mail of a challenge. Repeated calls queue it only once.
   *
   * @throws ServiceError `queue_unavailable` if the mail was certainly not queued
   */
  mail(order: { workflowId: string; challengeId: string; requestId: string; baseUrl: string }): Promise<Acceptance>;
}

export function createChallengeMailer({ jobs, canSendMail, clock }: WorkflowTools): ChallengeMailer {
  return {
    checkCanMail: async () => {
      if (await canSendMail()) return;
      throw new ServiceError('mail_unavailable', 'No mail can be sent at the moment, but this needs one.', { retryAfterSeconds: 60 });
    },
    mail: ({ workflowId, challengeId, requestId, baseUrl }) =>
      jobs.send('otp-mail', { workflowId, challengeId, acceptedAt: clock(), requestId, baseUrl }, `otp-${challengeId}`),
  };
}
