import type { ConfirmWith } from '../../shared/domain/challenge.ts';
import { quotableName } from '../../shared/domain/public-name.ts';
import type { createViewEngine } from '../../shared/views/engine.ts';
import type { Operator } from '../../shared/views/operator.ts';
import type { Message } from '../mail/index.ts';

/** What every mail to a client has. */
export interface ClientMail {
  /** The configured sender: `qstamp <no-reply@example.com>`. */
  readonly from: string;
  /** Used as exactly one e-mail address, even if it contains a comma. */
  readonly to: string;
  readonly workflowId: string;
  /** The agent's name for itself, unchanged. */
  readonly agentId: string;
  /** The operator of the service; null if not configured. */
  readonly operator: Operator | null;
  /** Absolute URL of the page that stops all mails to this recipient. */
  readonly stopLink: string;
  /** The same for every try of a job, so that mail programs show a mail once if it was sent twice. */
  readonly messageKey: string;
}

/** The contents of the mail with a challenge. */
interface OtpMail extends ClientMail {
  /** Absolute URL of verify-user with the challenge, which is the secret in the mail. */
  readonly link: string;
  readonly confirmWith: ConfirmWith;
  /** RFC 3339, UTC. */
  readonly validUntil: string;
  readonly validMinutes: number;
}

/** The contents of the mail about a completed workflow (W27). */
export interface CompletionMail extends ClientMail {
  /** The public title of the briefing, unchanged; null if there is none. */
  readonly title: string | null;
  readonly outputCount: number;
  /** RFC 3339, UTC. */
  readonly completedAt: string;
  /** Whether the stamps that closed the workflow are for trials. */
  readonly isTest: boolean;
  /** Absolute URL of the workflow's page. */
  readonly pageLink: string;
  /** Absolute URL of the evidence bundle (zip). */
  readonly bundleLink: string;
}

type Engine = ReturnType<typeof createViewEngine>;

/** The mail with the link that confirms an address. */
export const buildOtpMessage = (engine: Engine, mail: OtpMail): Message =>
  buildMessage(engine, 'otp', mail, 'Please confirm your e-mail address');

/** The mail that tells a client that his workflow was completed. */
export function buildCompletionMessage(engine: Engine, mail: CompletionMail): Message {
  const { outputCount, title } = mail;
  const files = outputCount === 1 ? '1 file was' : `${outputCount.toLocaleString('en-GB')} files were`;
  const outcome = outputCount === 0 ? 'A record without files was closed for you' : `${files} stamped for you`;
  return buildMessage(engine, 'completion', { ...mail, outcome, taskTitle: quotableName(title ?? '') }, outcome);
}

const domainOf = (sender: string): string => /@([^\s<>@]+)>?\s*$/.exec(sender)?.[1] ?? 'localhost';

/**
 * Makes a mail as text and as HTML from the same model. From the caller's input it quotes only names that `quotableName` lets through, marked as the
 * agent's own: the recipient must learn who asks, but strangers must not be able to put text into our mail.
 *
 * The recipient is an object, because a plain string with a comma would go to two people. `Auto-Submitted` keeps vacation responders quiet (RFC 3834
 * §5). `List-Unsubscribe` lets mail programs offer the link that stops the mails, with one click (RFC 8058).
 */
function buildMessage<Mail extends ClientMail>(engine: Engine, kind: 'otp' | 'completion', mail: Mail, subject: string): Message {
  const model = { ...mail, agentName: quotableName(mail.agentId) };
  return {
    from: mail.from,
    to: { name: '', address: mail.to },
    subject,
    text: engine.render(`./mail/${kind}-text.eta`, model),
    html: engine.render(`./mail/${kind}-html.eta`, model),
    messageId: `<${mail.messageKey}@${domainOf(mail.from)}>`,
    headers: {
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      'List-Unsubscribe': `<${mail.stopLink}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    },
  };
}
