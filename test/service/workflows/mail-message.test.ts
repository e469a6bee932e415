import { createTransport } from 'nodemailer';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { createViewEngine } from '../../../src/shared/views/engine.ts';
import { buildOtpMessage, type OtpMail } from '../../../src/workers/workflows/message.ts';

const mail: OtpMail = {
  from: 'qstamp <no-reply@stamps.example>',
  to: 'jane@example.com',
  workflowId: '01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10',
  agentId: 'Cover Artist 2.1',
  operator: null,
  link: 'https://stamps.example/api/v1/workflow/01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10/verify-user?challenge=Zm9v-_Zm9vZm9v',
  stopLink: 'https://stamps.example/mail/stop/token',
  confirmWith: 'link',
  validUntil: '2026-11-21T12:16:07Z',
  validMinutes: 30,
  messageKey: 'otp-01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10',
};

/** The message on the wire, read by a parser independent of the writer. */
async function wire(changed: Partial<OtpMail> = {}) {
  const transport = createTransport({ streamTransport: true, buffer: true });
  const { message, envelope } = await transport.sendMail(buildOtpMessage(createViewEngine(), { ...mail, ...changed }));
  return { envelope, parsed: await PostalMime.parse(message as Buffer) };
}

describe('verification mail', () => {
  it('explains the link and its validity in text and HTML, and to do nothing otherwise', async () => {
    const { parsed } = await wire();
    for (const body of [parsed.text!, parsed.html!]) {
      expect(body).toContain(mail.link);
      expect(body).toContain('30 minutes');
      expect(body).toContain('21 November 2026, 12:16:07 UTC');
      expect(body).toContain('do nothing');
      expect(body).toContain(mail.workflowId);
      expect(body).toContain(mail.stopLink);
    }
    expect(parsed.html).toContain(`href="${mail.link}"`);
    expect(parsed.text).toMatch(new RegExp(`^${mail.link.replace(/[.?]/g, '\\$&')}$`, 'm'));
    expect(parsed.subject).toBe('Please confirm your e-mail address');
    expect(parsed.from).toEqual({ name: 'qstamp', address: 'no-reply@stamps.example' });
  });

  it('names the agent by its own name, the confirmed and unconfirmed facts, and the operator', async () => {
    const operator = { name: 'Acme Stamps', url: 'https://acme.example', contact: 'help@acme.example' };
    const { parsed } = await wire({ operator });
    for (const body of [parsed.text!, parsed.html!.replace(/<[^>]*>/g, '')]) {
      const words = body.replace(/\s+/g, ' ');
      expect(words).toMatch(/calls itself ["“]Cover Artist 2\.1["”]/);
      expect(words).toContain('that you can read the mail of this address');
      expect(words).toContain('You do not approve that work');
      expect(words).toContain('Sent for Acme Stamps, https://acme.example, help@acme.example.');
    }
  });

  it('names no agent whose name is not safe to show', async () => {
    const { parsed } = await wire({ agentId: 'cover-artist/2.1' });
    for (const body of [parsed.text!, parsed.html!]) expect(body).not.toMatch(/cover-artist|calls itself|name above/);
  });

  it('is marked as automatic and keeps its Message-ID at every try', async () => {
    const [first, second] = [await wire(), await wire()];
    expect(first.parsed.messageId).toBe('<otp-01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10@stamps.example>');
    expect(second.parsed.messageId).toBe(first.parsed.messageId);
    expect(first.parsed.headers.find(({ key }) => key === 'auto-submitted')?.value).toBe('auto-generated');
  });

  it('goes to one mailbox, whatever the address contains', async () => {
    expect((await wire({ to: '"a,b"@example.com' })).envelope.to).toEqual(['"a,b"@example.com']);
  });

  it('loads nothing: no image, no style sheet, no script', async () => {
    const { parsed } = await wire();
    expect(parsed.html).not.toMatch(/<img|<link|<script|url\(/i);
  });
});
