import { createTransport } from 'nodemailer';
import PostalMime from 'postal-mime';
import { expect, test } from 'vitest';
import type { Message } from '../../../src/workers/mail/index.ts';
import { buildCompletionMessage, buildOtpMessage, type CompletionMail } from '../../../src/workers/workflows/mails.ts';

const workflowId = '01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10';
const page = `https://stamps.example/workflow/${workflowId}`;
const both = {
  from: 'qstamp <no-reply@stamps.example>',
  to: 'jane@example.com',
  workflowId,
  agentId: 'Cover Artist 2.1',
  title: 'Cover for the autumn issue',
  operator: null,
  locale: 'en',
  stopLink: 'https://stamps.example/mail/stop/token',
  messageKey: `key-${workflowId}`,
} as const;
const otp = {
  ...both,
  link: `https://stamps.example/c/${workflowId}/Zm9v-_Zm9vZm9v`,
  confirmWith: 'link',
  validUntil: '2026-11-24T12:16:07Z',
  validSeconds: 259_200,
} as const;
const completion: CompletionMail = {
  ...both,
  fileNames: ['cover_front.png', 'Text of the cover'],
  outputCount: 3,
  completedAt: '2026-11-24T11:12:05.123Z',
  isTest: false,
  pageLink: page,
  bundleLink: `${page}/evidence.zip`,
};

/** The message on the wire, read by a parser independent of the writer; the words of its text and of its HTML. */
async function onWire({ headers, ...message }: Message) {
  const transport = createTransport({ streamTransport: true, buffer: true });
  const sent = await transport.sendMail({ ...message, headers: { ...headers } });
  const parsed = await PostalMime.parse(sent.message as Buffer);
  const wordsOf = (text = '') => text.replace(/<(?!a )[^>]*>/g, '').replace(/\s+/g, ' ');
  return { envelope: sent.envelope, parsed, bodies: [wordsOf(parsed.text), wordsOf(parsed.html)] };
}
const verification = (changed = {}) => onWire(buildOtpMessage({ ...otp, ...changed }));
const completed = (changed = {}) => onWire(buildCompletionMessage({ ...completion, ...changed }));

const operator = { name: 'Acme Stamps', url: 'https://acme.example', contact: 'help@acme.example' };
test.each<[string, () => ReturnType<typeof onWire>, (string | RegExp)[]]>([
  [
    'a link: what it is for, how long it is valid, and to do nothing otherwise',
    () => verification({ operator }),
    [
      ...[otp.link, workflowId, otp.stopLink, /works once, for 3 days, until/, '24 November 2026, 12:16:07 UTC', 'do nothing'],
      ...[
        /calls itself ["“]Cover Artist 2\.1["”]/,
        /named the task ["“]Cover for the autumn issue["”]/,
        /Nobody has checked what the agent says/,
      ],
      ...['that you can read the mail of this address', 'You do not approve that work'],
      'Sent for Acme Stamps, https://acme.example, help@acme.example.',
    ],
  ],
  [
    'a completed workflow (W27): what was made, when, for whom and where it is',
    completed,
    [
      ...['3 files were stamped for you', '24 November 2026, 11:12:05 UTC', 'do not change them', otp.stopLink],
      ...[completion.pageLink, completion.bundleLink, /calls itself ["“]Cover Artist/, /the task ["“]Cover for the autumn issue["”]/],
      /named these files: (- )?cover_front.png (- )?Text of the cover (- )?and 1 more file/,
    ],
  ],
  ['test stamps', () => completed({ isTest: true }), ['they prove nothing to a third party']],
])('the mail about %s', async (_what, read, said) => {
  for (const body of (await read()).bodies) for (const words of said) expect(body).toMatch(words);
});

test('mails quote no name and no title that is not safe to show', async () => {
  const unsafe = { agentId: 'cover-artist/2.1', title: 'pay at evil.example' };
  for (const { bodies } of [await verification(unsafe), await completed(unsafe)])
    for (const body of bodies) expect(body).not.toMatch(/cover-artist|calls itself|evil|the task|for trials/);
});

test('the mail loads nothing, has its link on a line and in an anchor, and goes to one mailbox', async () => {
  const { parsed, envelope } = await verification({ to: '"a,b"@example.com' });
  expect(parsed.html).toContain(`href="${otp.link}"`);
  expect(parsed.html).not.toMatch(/<img|<link|<script|url\(/i);
  expect(parsed.text?.split('\n')).toContain(otp.link);
  expect([parsed.subject, envelope.to]).toEqual([
    'The AI agent “Cover Artist 2.1” asks you to confirm your e-mail address',
    ['"a,b"@example.com'],
  ]);
  expect((await completed()).parsed.text).toMatch(/^3 files were stamped for you\n\nThe record was closed on 24 November/);
});

test.each([
  [0, 'closed a record without files', 'A record without files was closed for you'],
  [1, 'recorded 1 file for you', '1 file was stamped for you'],
  [1_234, 'recorded 1,234 files for you', '1,234 files were stamped for you'],
])('of %i outputs the agent %s; without a name: %s', async (outputCount, named, unnamed) => {
  const subjectOf = async (agentId: string) => (await completed({ outputCount, agentId, fileNames: [] })).parsed.subject;
  expect(await subjectOf('Cover Artist')).toBe(`The AI agent “Cover Artist” ${named}`);
  expect(await subjectOf('cover-artist/2.1')).toBe(unnamed);
});
