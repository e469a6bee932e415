import { createHmac, type KeyObject } from 'node:crypto';
import { stopMailPath, verifyUserPath } from '../../shared/domain/addresses.ts';
import { type ConfirmWith, mintChallenge } from '../../shared/domain/challenge.ts';
import { recipientHash, stopTokenOf } from '../../shared/domain/recipient.ts';
import type { JobPayload } from '../../shared/queue/jobs.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { BlockedRecipientStore } from '../../shared/store/blocked-recipients.ts';
import type { WorkflowStore } from '../../shared/store/workflows.ts';
import type { createViewEngine } from '../../shared/views/engine.ts';
import type { Operator } from '../../shared/views/operator.ts';
import { buildOtpMessage } from './message.ts';
import { MailError, type MailTransport } from './transport.ts';

export interface OtpMailDeps {
  readonly workflows: WorkflowStore;
  readonly challengeKey: () => Promise<KeyObject>;
  /** The key of `recipientHash`. */
  readonly recipientKey: () => Promise<KeyObject>;
  readonly blockedRecipients: Pick<BlockedRecipientStore, 'blockedAt'>;
  readonly mail: MailTransport;
  readonly mailFrom: string;
  readonly operator: Operator | null;
  readonly engine: ReturnType<typeof createViewEngine>;
  /** Used instead of the base URL that the API sends with the job. */
  readonly publicBaseUrl: string | undefined;
  readonly otpTtlMinutes: number;
  readonly confirmWith: ConfirmWith;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long sending the mail is retried (W12). */
const tryForMs = 3_600_000;

const minuteMs = 60_000;

/**
 * Mails the challenge of a workflow. The challenge is derived from the ids of the workflow and the challenge with a key of the service. So only its
 * digest is stored, and a mail that is sent twice has the same challenge.
 *
 * @throws MailError if it should be retried; ServiceError `store_unavailable`
 */
export function createOtpMailProcessor(deps: OtpMailDeps): (job: JobPayload<'otp-mail'>) => Promise<void> {
  const {
    workflows,
    challengeKey,
    recipientKey,
    blockedRecipients,
    mail,
    mailFrom,
    operator,
    engine,
    publicBaseUrl,
    otpTtlMinutes,
    confirmWith,
    clock,
    log,
  } = deps;

  return async ({ workflowId, challengeId, acceptedAt, requestId, baseUrl }) => {
    const randomness = createHmac('sha256', await challengeKey())
      .update(`${workflowId}\n${challengeId}`)
      .digest();
    const { challenge, digest } = mintChallenge(randomness);
    const now = clock();
    const validUntil = new Date(now + otpTtlMinutes * minuteMs);
    const known = await workflows.find(workflowId);
    if (known?.mail?.sentAt || known?.mail?.failedAt) return;
    const workflow = await workflows.offerChallenge(workflowId, { challengeId, digest, expiresAt: validUntil }, new Date(now));
    if (!workflow) return;
    const recipient = recipientHash(await recipientKey(), workflow.email);
    if (await blockedRecipients.blockedAt(recipient)) {
      await workflows.recordMail(workflowId, challengeId, { failedAt: new Date(clock()), fault: 'the recipient has stopped mails' });
      log.info({ requestId, workflowId, outcome: 'refused' }, 'the mail was not sent: its recipient has stopped the mails');
      return;
    }
    const message = buildOtpMessage(engine, {
      from: mailFrom,
      to: workflow.email,
      workflowId,
      agentId: workflow.agentId,
      operator,
      link: `${publicBaseUrl ?? baseUrl}${verifyUserPath(workflowId, challenge)}`,
      stopLink: `${publicBaseUrl ?? baseUrl}${stopMailPath(stopTokenOf(await recipientKey(), recipient))}`,
      confirmWith,
      validUntil: validUntil.toISOString(),
      validMinutes: otpTtlMinutes,
      messageKey: `otp-${challengeId}`,
    });
    try {
      await mail.send(message);
    } catch (error) {
      if (!(error instanceof MailError)) throw error;
      const { message: fault, isFinal } = error;
      const isOver = isFinal || clock() - acceptedAt >= tryForMs;
      const report = { requestId, workflowId, fault, attempts: workflow.mail?.attempts };
      await workflows.recordMail(workflowId, challengeId, isOver ? { failedAt: new Date(clock()), fault } : { fault });
      if (!isOver) throw error;
      log.error(report, 'the mail with the link was given up');
      return;
    }
    await workflows.recordMail(workflowId, challengeId, { sentAt: new Date(clock()) });
    log.info({ requestId, workflowId, outcome: 'done' }, 'the mail with the link was sent');
  };
}
