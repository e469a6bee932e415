import type { KeyObject } from 'node:crypto';
import { stopMailPath } from '../../shared/domain/addresses.ts';
import { recipientHash, stopTokenOf } from '../../shared/domain/recipient.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { BlockedRecipientStore } from '../../shared/store/blocked-recipients.ts';
import type { MailOutcome, WorkflowRecord } from '../../shared/store/workflows.ts';
import type { createViewEngine } from '../../shared/views/engine.ts';
import type { Operator } from '../../shared/views/operator.ts';
import type { ClientMail, Message } from './message.ts';
import { MailError, type MailTransport } from './transport.ts';

export interface ClientMailDeps {
  /** The key of `recipientHash`. */
  readonly recipientKey: () => Promise<KeyObject>;
  readonly blockedRecipients: Pick<BlockedRecipientStore, 'blockedAt'>;
  readonly mail: MailTransport;
  readonly mailFrom: string;
  readonly operator: Operator | null;
  readonly engine: ReturnType<typeof createViewEngine>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long sending a mail is retried (W12). */
const tryForMs = 3_600_000;

interface Order {
  /** For logs: `the mail with the link`. */
  readonly name: string;
  readonly workflow: WorkflowRecord;
  readonly job: { readonly acceptedAt: number; readonly requestId: string };
  /** The start of the links in the mail. */
  readonly baseUrl: string;
  readonly build: (parts: Omit<ClientMail, 'messageKey'>) => Message;
  readonly record: (outcome: MailOutcome) => Promise<void>;
}

/**
 * Sends a mail to the client of a workflow, unless he has stopped the mails, and records the outcome. If the process ends after the server has accepted
 * the mail, the mail is sent again with the same Message-ID.
 *
 * @throws MailError if it should be retried; ServiceError `store_unavailable`
 */
export async function sendToClient(deps: ClientMailDeps, { name, workflow, job, baseUrl, build, record }: Order): Promise<void> {
  const { recipientKey, blockedRecipients, mail, mailFrom: from, operator, clock, log } = deps;
  const { _id: workflowId, email: to, agentId } = workflow;
  const told = { requestId: job.requestId, workflowId };
  const recipient = recipientHash(await recipientKey(), to);
  if (await blockedRecipients.blockedAt(recipient)) {
    await record({ failedAt: new Date(clock()), fault: 'the recipient has stopped mails' });
    log.info({ ...told, outcome: 'refused' }, `${name} was not sent: its recipient has stopped the mails`);
    return;
  }
  const stopLink = `${baseUrl}${stopMailPath(stopTokenOf(await recipientKey(), recipient))}`;
  try {
    await mail.send(build({ from, to, workflowId, agentId, operator, stopLink }));
  } catch (error) {
    if (!(error instanceof MailError)) throw error;
    const { message: fault, isFinal } = error;
    const isOver = isFinal || clock() - job.acceptedAt >= tryForMs;
    await record(isOver ? { failedAt: new Date(clock()), fault } : { fault });
    if (!isOver) throw error;
    log.error({ ...told, fault }, `${name} was given up`);
    return;
  }
  await record({ sentAt: new Date(clock()) });
  log.info({ ...told, outcome: 'done' }, `${name} was sent`);
}
