import { expect, test } from 'vitest';
import { createMailTransport, MailError } from '../../../src/workers/mail/transport.ts';
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
  [450, '4.2.1 busy', false],
  [550, '5.1.1 unknown', true],
  [552, 'no enhanced code', true],
])('W12: a recipient refused with %i %s is final: %s; the error names codes only (W10)', async (code, words, isFinal) => {
  const server = await startMailServer({
    onRcptTo: ({ address }, _session, done) => done(smtpReply(code, `${words} <${address}>`)),
  });
  const { message: fault, isFinal: found } = await failureOf(server.url);
  expect([fault.startsWith(`SMTP ${code}`), found]).toEqual([true, isFinal]);
  expect(fault).not.toContain('secret');
});

test('W12: a refused password, a server that is away and a missing SMTP_URL are no faults of the mail', async () => {
  const server = await startMailServer({ onAuth: (_auth, _session, done) => done(smtpReply(535, '5.7.8 wrong')), authOptional: false });
  expect(await failureOf(server.url.replace('//', '//user:pass@'))).toMatchObject({ isFinal: false });
  const gone = await startMailServer({ keep: true });
  await gone.close();
  expect(await failureOf(gone.url)).toMatchObject({ isFinal: false, message: 'ESOCKET' });
  expect(await failureOf(undefined)).toMatchObject({ isFinal: false, message: 'SMTP_URL is not set' });
});
