import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Acceptance } from '../../shared/queue/sender.ts';
import type { WorkflowTools } from './workflow-tools.ts';

/** Checks whether the mail with a link can be sent. @throws ServiceError `mail_unavailable` if no worker has a mail server */
export async function checkCanMail({ canSendMail }: WorkflowTools): Promise<void> {
  if (await canSendMail()) return;
  throw new ServiceError('mail_unavailable', 'No mail can be sent at the moment, but this needs one.', { retryAfterSeconds: 60 });
}

/**
 * Queues the mail with the link that confirms an e-mail address. A worker sends it (W12). Repeated calls queue it only once.
 *
 * @throws ServiceError `queue_unavailable` if the mail was certainly not queued
 */
export const mailChallenge = (
  { jobs, clock }: WorkflowTools,
  { workflowId, challengeId, requestId, baseUrl }: { workflowId: string; challengeId: string; requestId: string; baseUrl: string },
): Promise<Acceptance> => jobs.send('otp-mail', { workflowId, challengeId, acceptedAt: clock(), requestId, baseUrl }, `otp-${challengeId}`);
