import { createHmac, type KeyObject } from 'node:crypto';
import { verifyUserPath } from '../../shared/domain/addresses.ts';
import { type ConfirmWith, mintChallenge } from '../../shared/domain/challenge.ts';
import type { JobPayload } from '../../shared/queue/jobs.ts';
import type { WorkflowStore } from '../../shared/store/workflows.ts';
import { type ClientMailDeps, sendToClient } from './client-mail.ts';
import { buildOtpMessage } from './message.ts';

export interface OtpMailDeps extends ClientMailDeps {
  readonly workflows: WorkflowStore;
  readonly challengeKey: () => Promise<KeyObject>;
  readonly otpTtlMinutes: number;
  readonly confirmWith: ConfirmWith;
}

const minuteMs = 60_000;

/**
 * Mails the challenge of a workflow. The challenge is derived from the ids of the workflow and the challenge with a key of the service. So only its
 * digest is stored, and a mail that is sent twice has the same challenge.
 *
 * @throws MailError if it should be retried; ServiceError `store_unavailable`
 */
export function createOtpMailProcessor(deps: OtpMailDeps): (job: JobPayload<'otp-mail'>) => Promise<void> {
  const { workflows, challengeKey, engine, otpTtlMinutes, confirmWith, clock } = deps;

  return async (job) => {
    const { workflowId, challengeId, baseUrl } = job;
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
    await sendToClient(deps, {
      name: 'the mail with the link',
      workflow,
      job,
      baseUrl,
      build: (parts) =>
        buildOtpMessage(engine, {
          ...parts,
          link: `${baseUrl}${verifyUserPath(workflowId, challenge)}`,
          confirmWith,
          validUntil: validUntil.toISOString(),
          validMinutes: otpTtlMinutes,
          messageKey: `otp-${challengeId}`,
        }),
      record: (outcome) => workflows.recordMail(workflowId, challengeId, outcome),
    });
  };
}
