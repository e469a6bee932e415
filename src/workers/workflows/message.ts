import type { ConfirmWith } from '../../shared/domain/challenge.ts';
import type { createViewEngine } from '../../shared/views/engine.ts';
import type { Operator } from '../../shared/views/operator.ts';

/** The maximum length of an agent's name in a mail, in characters. */
const mostCharacters = 60;

/** Mail programs turn these into links: `www.name`, `name.org`, and anything with a scheme or an `@`, which `allowed` does not have. */
const looksLikeLink = /\bwww\.|[\p{L}\p{M}\p{N}]\.\p{N}*[\p{L}\p{M}]/iu;
const allowed = /^[\p{L}\p{M}\p{N} .,'&()-]+$/u;
const longNumber = /\p{N}{5}/u;

/**
 * The name of an agent if it is safe to quote in our mail, otherwise an empty text. Anyone can start a workflow with any e-mail address, and must not
 * be able to put a link into the mail.
 */
export function agentNameOf(agentId: string): string {
  const name = agentId.normalize('NFC').trim();
  const isSafe = allowed.test(name) && [...name].length <= mostCharacters && !longNumber.test(name) && !looksLikeLink.test(name);
  return isSafe ? name : '';
}

/** The contents of the mail with a challenge. */
export interface OtpMail {
  /** The configured sender: `qstamp <no-reply@example.com>`. */
  readonly from: string;
  /** Used as exactly one e-mail address, even if it contains a comma. */
  readonly to: string;
  readonly workflowId: string;
  /** The agent's name for itself, unchanged. */
  readonly agentId: string;
  /** The operator of the service; null if not configured. */
  readonly operator: Operator | null;
  /** Absolute URL of verify-user with the challenge, which is the secret in the mail. */
  readonly link: string;
  /** Absolute URL of the page that stops all mails to this recipient. */
  readonly stopLink: string;
  readonly confirmWith: ConfirmWith;
  /** RFC 3339, UTC. */
  readonly validUntil: string;
  readonly validMinutes: number;
  /** The same for every try of a job, so that mail programs show a mail once if it was sent twice. */
  readonly messageKey: string;
}

/** A message for nodemailer. */
export interface Message {
  readonly from: string;
  readonly to: { readonly name: string; readonly address: string };
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly messageId: string;
  readonly headers: Readonly<Record<string, string>>;
}

const domainOf = (sender: string): string => /@([^\s<>@]+)>?\s*$/.exec(sender)?.[1] ?? 'localhost';

/**
 * The mail with the link, as text and as HTML from the same model. From the caller's input it quotes only the agent's name, if `agentNameOf`
 * lets it through, marked as the name that the agent gave itself: the recipient must learn who asks, but strangers must not be able to put text into our mail.
 *
 * The recipient is an object, because a plain string with a comma would go to two people. `Auto-Submitted` keeps vacation responders quiet (RFC 3834
 * §5). `List-Unsubscribe` lets mail programs offer the link that stops the mails, with one click (RFC 8058).
 */
export function buildOtpMessage(engine: ReturnType<typeof createViewEngine>, mail: OtpMail): Message {
  const model = { ...mail, agentName: agentNameOf(mail.agentId) };
  return {
    from: mail.from,
    to: { name: '', address: mail.to },
    subject: 'Please confirm your e-mail address',
    text: engine.render('./mail/otp-text.eta', model),
    html: engine.render('./mail/otp-html.eta', model),
    messageId: `<${mail.messageKey}@${domainOf(mail.from)}>`,
    headers: {
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      'List-Unsubscribe': `<${mail.stopLink}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    },
  };
}
