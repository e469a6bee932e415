import type { createViewEngine } from '../../shared/views/engine.ts';
import type { Operator } from '../../shared/views/operator.ts';

/** Longer names are cut: they may hold a message. */
const mostCharacters = 60;

/**
 * The name of an agent, safe to be quoted in a mail of ours. Anybody may start a workflow with anybody's address, and must not get a link
 * or a text of his own into the mail. What is left is one short line of letters, digits and a few marks. A full stop stays only before a
 * digit, because mail programs make links of `word.word`. Empty where nothing is left.
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

/** What the mail that carries a challenge says. */
export interface OtpMail {
  /** The sender as configured: `qstamp <no-reply@example.com>`. */
  readonly from: string;
  /** One address, whatever it holds. */
  readonly to: string;
  readonly workflowId: string;
  /** What the agent calls itself, as it was given. */
  readonly agentId: string;
  /** Who runs this installation; null where that is not stated. */
  readonly operator: Operator | null;
  /** Absolute address of verify-user with its challenge: the secret of the mail. */
  readonly link: string;
  /** RFC 3339, UTC. */
  readonly validUntil: string;
  readonly validMinutes: number;
  /** The same for every try of one job, so that a mail sent twice is shown once. */
  readonly messageKey: string;
}

/** A message as nodemailer takes it. */
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
 * The mail with the link, as text and as HTML from the same model. Of what a caller chose it quotes the agent's name alone, trimmed to
 * one and marked as what the agent calls itself: a client must learn who asks, and a stranger must not put words into a mail of ours.
 *
 * The recipient is an object, because a plain string with a comma would go to two people. `Auto-Submitted` keeps vacation
 * responders quiet (RFC 3834 §5).
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
