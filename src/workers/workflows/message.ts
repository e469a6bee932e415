import type { ConfirmWith } from '../../shared/domain/challenge.ts';
import type { createViewEngine } from '../../shared/views/engine.ts';
import type { Operator } from '../../shared/views/operator.ts';

/** The maximum length of an agent's name in a mail. Longer names are cut: they may contain a message of a stranger. */
const mostCharacters = 60;

/**
 * The name of an agent, safe to quote in our mail. Anyone can start a workflow with any e-mail address, and must not be able to put a link or a text
 * into the mail. The result is one short line of letters, digits and a few punctuation marks. A full stop stays only before a digit, because mail
 * programs turn `word.word` into a link. The result is empty if nothing remains.
 */
export function agentNameOf(agentId: string): string {
  const words = agentId
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}\p{M} ._\-/+#()]/gu, ' ')
    .replace(/\.(?!\p{N})/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...words];
  return characters.length > mostCharacters ? `${characters.slice(0, mostCharacters).join('')}…` : words;
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
 * The mail with the link, as text and as HTML from the same model. From the caller's input it quotes only the agent's name, cleaned by `agentNameOf`
 * and marked as the name that the agent gave itself: the recipient must learn who asks, but strangers must not be able to put text into our mail.
 *
 * The recipient is an object, because a plain string with a comma would go to two people. `Auto-Submitted` keeps vacation responders quiet (RFC 3834
 * §5).
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
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
  };
}
