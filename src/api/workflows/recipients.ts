import { recipientHash, recipientOfStopToken } from '../../shared/domain/recipient.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { WorkflowTools } from './workflow-tools.ts';

// The people who get mails from the service. Here each is a keyed hash of an address.

/**
 * Returns the hash of a recipient who may get a mail.
 *
 * @throws ServiceError `recipient_blocked` if he has stopped the mails; `store_unavailable`
 */
export async function admitRecipient({ store: { keys, blockedRecipients } }: WorkflowTools, address: string): Promise<string> {
  const hash = recipientHash(await keys.secret('recipients'), address);
  if ((await blockedRecipients.blockedAt(hash)) === undefined) return hash;
  const detail =
    'The owner of this e-mail address has stopped the mails of this service. Only the operator can allow them again, at his request.';
  throw new ServiceError('recipient_blocked', detail);
}

/** Whether the service made this token for a link that stops mails. */
export const isStopToken = async ({ store: { keys } }: WorkflowTools, token: string): Promise<boolean> =>
  recipientOfStopToken(await keys.secret('recipients'), token) !== undefined;

/** Stops all mails to the recipient of a token. Resolves to false if the service did not make the token. */
export async function stopMails({ store: { keys, blockedRecipients }, clock }: WorkflowTools, token: string): Promise<boolean> {
  const hash = recipientOfStopToken(await keys.secret('recipients'), token);
  if (hash !== undefined) await blockedRecipients.block(hash, new Date(clock()));
  return hash !== undefined;
}
