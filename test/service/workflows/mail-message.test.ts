import { createTransport } from 'nodemailer';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { createViewEngine } from '../../../src/shared/views/engine.ts';
import {
  buildCompletionMessage,
  buildOtpMessage,
  type CompletionMail,
  type Message,
  type OtpMail,
} from '../../../src/workers/workflows/message.ts';

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
async function onWire({ headers, ...message }: Message) {
  const transport = createTransport({ streamTransport: true, buffer: true });
  const sent = await transport.sendMail({ ...message, headers: { ...headers } });
  return { envelope: sent.envelope, parsed: await PostalMime.parse(sent.message as Buffer) };
}
const wire = (changed: Partial<OtpMail> = {}) => onWire(buildOtpMessage(createViewEngine(), { ...mail, ...changed }));

describe('verification mail', () => {
  it('explains the link and its validity in text and HTML, and to do nothing otherwise; it loads nothing', async () => {
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
    expect(parsed.html).not.toMatch(/<img|<link|<script|url\(/i);
    expect(parsed.text).toMatch(new RegExp(`^${mail.link.replace(/[.?]/g, '\\$&')}$`, 'm'));
    expect(parsed.subject).toBe('Please confirm your e-mail address');
  });

  it('names the agent by its own name if it is safe to show, the confirmed and unconfirmed facts, and the operator', async () => {
    const operator = { name: 'Acme Stamps', url: 'https://acme.example', contact: 'help@acme.example' };
    const { parsed } = await wire({ operator });
    for (const body of [parsed.text!, parsed.html!.replace(/<[^>]*>/g, '')]) {
      const words = body.replace(/\s+/g, ' ');
      expect(words).toMatch(/calls itself ["“]Cover Artist 2\.1["”]/);
      expect(words).toContain('that you can read the mail of this address');
      expect(words).toContain('You do not approve that work');
      expect(words).toContain('Sent for Acme Stamps, https://acme.example, help@acme.example.');
    }
    const unnamed = (await wire({ agentId: 'cover-artist/2.1' })).parsed;
    for (const body of [unnamed.text!, unnamed.html!]) expect(body).not.toMatch(/cover-artist|calls itself|name above/);
  });

  it('goes to one mailbox, whatever the address contains', async () => {
    expect((await wire({ to: '"a,b"@example.com' })).envelope.to).toEqual(['"a,b"@example.com']);
  });
});

describe('mail about a completed workflow (W27)', () => {
  const completion: CompletionMail = {
    from: mail.from,
    to: mail.to,
    workflowId: mail.workflowId,
    agentId: mail.agentId,
    operator: null,
    stopLink: mail.stopLink,
    title: 'Cover for the autumn issue',
    outputCount: 3,
    completedAt: '2026-11-24T11:12:05.123Z',
    isTest: false,
    pageLink: `https://stamps.example/workflow/${mail.workflowId}`,
    bundleLink: `https://stamps.example/workflow/${mail.workflowId}/evidence.zip`,
    messageKey: `completed-${mail.workflowId}`,
  };
  const read = async (changed: Partial<CompletionMail> = {}) => {
    const { parsed } = await onWire(buildCompletionMessage(createViewEngine(), { ...completion, ...changed }));
    const plain = (text: string) => text.replace(/<[^>]*>/g, '').replace(/\s+/g, ' ');
    return { parsed, bodies: [plain(parsed.text!), plain(parsed.html!)] };
  };

  it('says in text and HTML what was made, when, for whom and where it is', async () => {
    const { parsed, bodies } = await read();
    expect(parsed.subject).toBe('3 files were stamped for you');
    for (const body of bodies) {
      expect(body).toContain('3 files were stamped for you');
      expect(body).toContain('24 November 2026, 11:12:05 UTC');
      expect(body).toMatch(/calls itself ["“]Cover Artist 2\.1["”]/);
      expect(body).toMatch(/the task ["“]Cover for the autumn issue["”]/);
      expect(body).toContain('do not change them');
      expect(body).not.toContain('test stamps');
    }
    for (const body of [parsed.text!, parsed.html!])
      for (const link of [completion.pageLink, completion.bundleLink, mail.stopLink]) expect(body).toContain(link);
    expect(parsed.text).toMatch(/^3 files were stamped for you\n\nThe record was closed on 24 November/);
  });

  it('quotes no title and no name that is not safe to show, and says that test stamps prove nothing to a third party', async () => {
    const { bodies } = await read({ agentId: 'cover-artist/2.1', title: 'pay at evil.example', isTest: true });
    for (const body of bodies) {
      expect(body).not.toMatch(/cover-artist|calls itself|evil|the task/);
      expect(body).toContain('they prove nothing to a third party');
    }
  });

  it.each([
    [0, 'A record without files was closed for you'],
    [1, '1 file was stamped for you'],
    [1_234, '1,234 files were stamped for you'],
  ])('of %i outputs it says: %s', async (outputCount, subject) => expect((await read({ outputCount })).parsed.subject).toBe(subject));
});
