import { text } from 'node:stream/consumers';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { onTestFinished } from 'vitest';
import { eventually } from './requests.ts';

export interface ReceivedMail {
  readonly recipients: readonly string[];
  readonly parsed: Email;
  readonly source: string;
  /** Addresses in its text, in order. */
  readonly links: readonly string[];
}

export interface MailServer {
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  /** The verification link that was mailed for a workflow. */
  linkFor(workflowId: unknown): Promise<string>;
  close(): Promise<void>;
}

/** A possible answer of an SMTP server; thrown in a hook. `responseCode` as in RFC 5321 §4.2. */
export const smtpReply = (responseCode: number, message: string): Error => Object.assign(new Error(message), { responseCode });

/** A real SMTP server on loopback; `hooks` make it refuse, or speak TLS. */
export async function startMailServer({
  keep = false,
  host = '127.0.0.1',
  port = 0,
  ...hooks
}: SMTPServerOptions & { keep?: boolean; host?: string; port?: number } = {}): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onData(stream, session, done) {
      const take = async () => {
        const source = await text(stream);
        const parsed = await PostalMime.parse(source);
        const links = (parsed.text ?? '').match(/https?:\/\/[^\s"'<>]+/g) ?? [];
        mails.push({ recipients: session.envelope.rcptTo.map(({ address }) => address), parsed, source, links });
      };
      take().then(() => done(), done);
    },
    ...hooks,
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const address = server.server.address();
  const close = () => new Promise<void>((resolve) => server.close(resolve));
  if (!keep) onTestFinished(close);
  return {
    url: `${hooks.secure ? 'smtps' : 'smtp'}://${host}:${typeof address === 'object' ? address?.port : ''}`,
    mails,
    linkFor: (workflowId) => eventually(async () => mails.flatMap(({ links }) => links).find((link) => link.includes(String(workflowId)))),
    close,
  };
}
