import { text } from 'node:stream/consumers';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { findFreePort } from './ports.ts';

const maxMessageBytes = 1_048_576;

/** A mail that was received and is not sent on. */
export interface CaughtMail {
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  /** Every URL in the mail, without duplicates, in order. */
  readonly links: readonly string[];
}

function findLinks(...bodies: readonly string[]): string[] {
  const found = bodies.flatMap((body) => body.match(/https?:\/\/[^\s"'<>]+/g) ?? []);
  return [...new Set(found.map((link) => link.replaceAll('&amp;', '&')))];
}

async function readMail(source: string, to: readonly string[]): Promise<CaughtMail> {
  const mail = await PostalMime.parse(source);
  return { to, subject: mail.subject ?? '', text: mail.text ?? '', links: findLinks(mail.text ?? '', mail.html ?? '') };
}

/** Starts an SMTP server for development on the loopback address. It passes every mail to `onMail` instead of sending it on. */
export async function startMailCatcher({
  onMail,
  preferredPort,
}: {
  onMail: (mail: CaughtMail) => void;
  preferredPort?: number | undefined;
}) {
  const port = await findFreePort(preferredPort);
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    size: maxMessageBytes,
    logger: false,
    onData(stream, session, done) {
      const recipients = session.envelope.rcptTo.map(({ address }) => address);
      text(stream)
        .then((source) => readMail(source, recipients))
        .then(onMail)
        .then(
          () => done(),
          (error: Error) => done(error),
        );
    },
  });
  // The server continues if a client closes its connection too early.
  server.on('error', (error) => process.stderr.write(`mail catcher: ${error.message}\n`));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return { url: `smtp://127.0.0.1:${port}`, port, stop: () => new Promise<void>((resolve) => server.close(resolve)) };
}
