import { expect, test } from 'vitest';
import { createMailTransport, MailError } from '../../../src/workers/workflows/transport.ts';
import { smtpReply, startMailServer } from '../../support/mail.ts';

const message = {
  from: 'qstamp <no-reply@qstamp.example>',
  to: { name: '', address: 'secret.address@example.com' },
  subject: 'Hello',
  text: 'Hello',
  html: '<p>Hello</p>',
  messageId: '<1@qstamp.example>',
  headers: {},
};

const failureOf = async (url: string | undefined): Promise<MailError> => {
  const outcome: unknown = await createMailTransport(url)
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
