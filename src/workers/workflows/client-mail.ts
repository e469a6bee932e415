import { stopMailPath } from '../../shared/domain/addresses.ts';
import { recipientHash, stopTokenOf } from '../../shared/domain/recipient.ts';
import type { MailOutcome, WorkflowRecord } from '../../shared/store/workflows.ts';
import { operatorOf } from '../../shared/views/operator.ts';
import { MailError, type Message } from '../mail/index.ts';
import type { WorkerTools } from '../tools.ts';
import type { ClientMail } from './message.ts';

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
export async function sendToClient(tools: WorkerTools, { name, workflow, job, baseUrl, build, record }: Order): Promise<void> {
  const { config, store, mail, clock, log } = tools;
  const { _id: workflowId, email: to, agentId } = workflow;
  const told = { requestId: job.requestId, workflowId };
  const recipientKey = await store.keys.secret('recipients');
  const recipient = recipientHash(recipientKey, to);
  if (await store.blockedRecipients.blockedAt(recipient)) {
    await record({ failedAt: new Date(clock()), fault: 'the recipient has stopped mails' });
    log.info({ ...told, outcome: 'refused' }, `${name} was not sent: its recipient has stopped the mails`);
    return;
  }
  const from = config.MAIL_FROM ?? 'qstamp <no-reply@localhost>';
  const operator = operatorOf(config);
  const stopLink = `${baseUrl}${stopMailPath(stopTokenOf(recipientKey, recipient))}`;
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
