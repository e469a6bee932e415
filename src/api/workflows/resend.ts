import type { WorkflowResendResponse } from '../../shared/contract/workflow.ts';
import { workflowStatePath } from '../../shared/domain/addresses.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { WorkflowRecord } from '../../shared/store/workflows.ts';
import { identify, type PassLimit } from '../stamps/index.ts';
import { checkState } from './access.ts';
import { checkCanMail, mailChallenge } from './challenge-mailer.ts';
import type { WorkflowTools } from './workflow-tools.ts';

interface ResendCommand {
  readonly workflow: WorkflowRecord;
  readonly requestId: string;
  readonly idempotencyKey: string | undefined;
  readonly passLimit: PassLimit;
  /** The base URL of the service, for the link in the mail. */
  readonly baseUrl: string;
}

/**
 * Mails a new link and makes the old link invalid (W6). This also works if the old link has expired or was tried too often.
 *
 * @throws ServiceError `conflict`, `gone`, `rate_limited`, `mail_unavailable`, `idempotency_key_reused`, `queue_unavailable`, `store_unavailable`;
 *   `mail_pending` if the queue did not confirm the mail
 */
export async function resendLink(
  tools: WorkflowTools,
  command: ResendCommand,
): Promise<{ answer: WorkflowResendResponse; isReplayed: boolean }> {
  const { store, clock, addressOf } = tools;
  const { workflow, requestId, idempotencyKey: key, passLimit, baseUrl } = command;
  const now = clock();
  checkState('resend', workflow, now);
  await checkCanMail(tools);
  const caller = `workflow:${workflow._id}`;
  const identity = await identify(tools, { caller, key, operation: 'workflow_resend', content: null, passLimit });
  const { resourceId: challengeId, isRepeated } = identity;
  const current = await store.workflows.replaceChallenge(workflow._id, challengeId, new Date(now));
  if (current) checkState('resend', current, now);
  const mail = await mailChallenge(tools, { workflowId: workflow._id, challengeId, requestId, baseUrl });
  if (mail === 'unanswered') {
    throw new ServiceError('mail_pending', 'The old link has ended, but the queue did not confirm the mail with the new one.', {
      retryAfterSeconds: 5,
      members: { status_url: addressOf(workflowStatePath(workflow._id)) },
    });
  }
  return { answer: { workflow_id: workflow._id, otp_sent_to: workflow.email, status: 'pending' }, isReplayed: isRepeated };
}
