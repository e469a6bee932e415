import { createHmac } from 'node:crypto';
import { verifyUserPath } from '../../shared/domain/addresses.ts';
import { mintChallenge } from '../../shared/domain/challenge.ts';
import type { JobPayload } from '../../shared/queue/jobs.ts';
import type { WorkerTools } from '../tools.ts';
import { sendToClient } from './client-mail.ts';
import { buildOtpMessage } from './message.ts';

const minuteMs = 60_000;

/**
 * Mails the challenge of a workflow. The challenge is derived from the ids of the workflow and the challenge with a key of the service. So only its
 * digest is stored, and a mail that is sent twice has the same challenge.
 *
 * @throws MailError if it should be retried; ServiceError `store_unavailable`
 */
export async function sendOtpMail(tools: WorkerTools, job: JobPayload<'otp-mail'>): Promise<void> {
  const { config, store, engine, clock } = tools;
  const { workflows } = store;
  const { workflowId, challengeId, baseUrl } = job;
  const randomness = createHmac('sha256', await store.keys.secret('challenge'))
    .update(`${workflowId}\n${challengeId}`)
    .digest();
  const { challenge, digest } = mintChallenge(randomness);
  const now = clock();
  const validUntil = new Date(now + config.OTP_TTL_MINUTES * minuteMs);
  const known = await workflows.find(workflowId);
  if (known?.mail?.sentAt || known?.mail?.failedAt) return;
  const workflow = await workflows.offerChallenge(workflowId, { challengeId, digest, expiresAt: validUntil }, new Date(now));
  if (!workflow) return;
  await sendToClient(tools, {
    name: 'the mail with the link',
    workflow,
    job,
    baseUrl,
    build: (parts) =>
      buildOtpMessage(engine, {
        ...parts,
        link: `${baseUrl}${verifyUserPath(workflowId, challenge)}`,
        confirmWith: config.CONFIRM_WITH,
        validUntil: validUntil.toISOString(),
        validMinutes: config.OTP_TTL_MINUTES,
        messageKey: `otp-${challengeId}`,
      }),
    record: (outcome) => workflows.recordMail(workflowId, challengeId, outcome),
  });
}
