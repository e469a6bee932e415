import tls from 'node:tls';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { startMailCatcher } from '../../../scripts/stack/mail-catcher.ts';
import { MailError, openMail } from '../../../src/workers/mail/index.ts';
import { eventually } from '../../support/eventually.ts';
import { smtpReply, startMailServer } from '../../support/mail.ts';
import { createTlsIdentity } from '../../support/tls-identity.ts';

const message = {
  from: 'qstamp <no-reply@qstamp.example>',
  to: { name: '', address: 'secret.address@example.com' },
  subject: 'Hello',
  text: 'Hello',
  html: '<p>Hello</p>',
  messageId: '<1@qstamp.example>',
  headers: {},
};

/** Mail over this server, with the outcomes that it counts. */
function mailOver(url: string | undefined) {
  const counted: string[] = [];
  return { ...openMail({ SMTP_URL: url }, { mailed: (outcome) => counted.push(outcome) }, pino({ level: 'silent' })), counted };
}

const failureOf = async (url: string | undefined): Promise<MailError> => {
  const outcome: unknown = await mailOver(url)
    .send(message)
    .catch((error: unknown) => error);
  if (outcome instanceof MailError) return outcome;
  throw new Error(`no MailError: ${outcome}`);
};

test.each([
  [450, '4.2.1 busy', false, false],
  [550, '5.1.1 unknown', true, false],
  [552, 'no enhanced code', true, false],
  [421, '4.3.2 shutting down', false, true],
])(
  'W12: for a recipient refused with %i %s: final %s, the server’s own fault %s; the error contains codes only (W10)',
  async (code, words, ...expected) => {
    const server = await startMailServer({
      onRcptTo: ({ address }, _session, done) => done(smtpReply(code, `${words} <${address}>`)),
    });
    const { message: fault, isFinal, isOfServer } = await failureOf(server.url);
    expect([fault.startsWith(`SMTP ${code}`), isFinal, isOfServer]).toEqual([true, ...expected]);
    expect(fault).not.toContain('secret');
  },
);

test('W12: a refused password, a server that is away and a missing SMTP_URL are not faults of the mail', async () => {
  const server = await startMailServer({ onAuth: (_auth, _session, done) => done(smtpReply(535, '5.7.8 wrong')), authOptional: false });
  expect(await failureOf(server.url.replace('//', '//user:pass@'))).toMatchObject({ isFinal: false, isOfServer: true });
  const gone = await startMailServer({ keep: true });
  await gone.close();
  expect(await failureOf(gone.url)).toMatchObject({ isFinal: false, isOfServer: true, message: 'ESOCKET' });
  expect(await failureOf(undefined)).toMatchObject({ isFinal: false, message: 'SMTP_URL is not set' });
});

test('over TLS the mail goes only to a server with a trusted certificate', async () => {
  const { key, cert } = createTlsIdentity('127.0.0.1');
  const server = await startMailServer({ secure: true, key, cert });
  expect(await failureOf(server.url)).toMatchObject({ isFinal: false, isOfServer: true });
  expect(server.mails).toHaveLength(0);
  const trusted = tls.getCACertificates('default');
  onTestFinished(() => tls.setDefaultCACertificates(trusted));
  tls.setDefaultCACertificates([...trusted, cert]);
  await mailOver(server.url).send(message);
  expect(server.mails).toHaveLength(1);
});

test('a server without STARTTLS gets no mail, unless a setting allows plain SMTP', async () => {
  // 127.0.0.1 is trusted without TLS; its neighbour is not.
  const server = await startMailServer({ host: '127.0.0.2' });
  expect(await failureOf(server.url)).toMatchObject({ isFinal: false, isOfServer: true });
  expect(server.mails).toHaveLength(0);
  await mailOver(`${server.url}?plain`).send(message);
  expect(server.mails).toHaveLength(1);
});

test('the mail catcher of npm start listens at the preferred port, and reports the links of a mail', async () => {
  const gone = await startMailServer({ keep: true });
  const port = Number(new URL(gone.url).port);
  await gone.close();
  const caught: string[] = [];
  const catcher = await startMailCatcher({ preferredPort: port, onMail: ({ links }) => caught.push(...links) });
  onTestFinished(() => catcher.stop());
  expect(catcher.port).toBe(port);
  await mailOver(gone.url).send({ ...message, text: 'Open https://stamps.example/a?b=c now' });
  expect(await eventually(async () => caught[0])).toBe('https://stamps.example/a?b=c');
});

test('the last mail shows whether sending works, and each outcome is counted (W12)', async () => {
  let refusal: Error | undefined;
  const gone = await startMailServer({ keep: true });
  await gone.close();
  const mail = mailOver(gone.url);
  const stateAfterMail = async () => {
    await mail.send(message).catch(() => undefined);
    return mail.readState();
  };
  expect(mail.readState()).toBe('unknown');
  expect(await stateAfterMail()).toBe('failing');
  await startMailServer({ port: Number(new URL(gone.url).port), onRcptTo: (_address, _session, done) => done(refusal) });
  refusal = smtpReply(550, '5.1.1 unknown');
  expect(await stateAfterMail()).toBe('ok');
  refusal = undefined;
  expect(await stateAfterMail()).toBe('ok');
  expect(mail.counted).toEqual(['deferred', 'failed', 'sent']);
});

test('without a mail server no mail can be sent, whatever is tried (W19)', async () => {
  const mail = mailOver(undefined);
  await expect(mail.send(message)).rejects.toThrow(MailError);
  expect([mail.readState(), mail.counted]).toEqual(['not_configured', ['deferred']]);
});
