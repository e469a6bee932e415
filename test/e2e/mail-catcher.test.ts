import { createTransport } from 'nodemailer';
import { expect, test } from 'vitest';
import { type CaughtMail, startMailCatcher } from '../../scripts/stack/mail-catcher.ts';

test('a mail is caught with every link of its text and its page, each once', async () => {
  const caught: CaughtMail[] = [];
  const catcher = await startMailCatcher({ onMail: (mail) => caught.push(mail) });
  const transport = createTransport(catcher.url);
  await transport.sendMail({
    from: 'qstamp@localhost',
    to: ['client@example.com', 'other@example.com'],
    subject: 'Bestätigen Sie',
    text: 'Verify: https://stamps.example/verify?a=1&challenge=abc',
    html: '<a href="https://stamps.example/verify?a=1&amp;challenge=abc">verify</a> <a href="http://stamps.example/help">help</a>',
  });
  transport.close();
  await catcher.stop();
  expect(caught).toEqual([
    {
      to: ['client@example.com', 'other@example.com'],
      subject: 'Bestätigen Sie',
      text: expect.stringContaining('challenge=abc'),
      links: ['https://stamps.example/verify?a=1&challenge=abc', 'http://stamps.example/help'],
    },
  ]);
});
