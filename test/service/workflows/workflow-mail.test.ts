import { expect, test } from 'vitest';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { smtpReply, startMailServer } from '../../support/mail.ts';
import { mailedService } from '../../support/mailed-service.ts';
import { eventually } from '../../support/requests.ts';
import { type Service, startService } from '../../support/service.ts';
import { openLink, startRequest, startWorkflow, startWorkflowRaw } from '../../support/workflows.ts';

const { mail, service } = await mailedService();

const mailState = async (of: Pick<Service, 'settings'>, id: string) =>
  (await collectionOf(await openDatabase(of), 'workflows').findOne({ _id: id }))?.mail as Record<string, unknown> | undefined;

test('the mail has one recipient, the same absolute link in text and HTML, and headers against automatic replies', async () => {
  const workflow = await startWorkflow(service, { user_email: 'zoe@example.com' });
  const link = await mail.linkFor(workflow.id);
  const received = mail.mails.find(({ links }) => links.includes(link));
  expect(received?.recipients).toEqual(['zoe@example.com']);
  expect(received?.parsed).toMatchObject({
    from: { name: 'qstamp', address: 'no-reply@qstamp.example' },
    to: [{ address: 'zoe@example.com' }],
    subject: expect.stringMatching(/confirm/i),
    messageId: expect.stringMatching(/^<[^<>@\s]+@qstamp\.example>$/),
  });
  expect(received?.source).toMatch(/^Auto-Submitted: auto-generated\r?$/im);
  expect(link.startsWith(`${service.url}/`)).toBe(true);
  expect(received?.parsed.html).toContain(link);
  expect(received?.parsed.text).toContain('20 minutes');
  expect(received?.parsed.text).toContain('calls itself “agent-7”');
  expect(received?.parsed.text).toMatch(/if you do not know this agent, do nothing/i);
  await eventually(async () => (await mailState(service, workflow.id))?.sentAt);
});

test('the mail has the language that the agent asked for, and a language that we do not have is refused', async () => {
  const workflow = await startWorkflow(service, { user_email: 'anna@example.com', locale: 'de' });
  const link = await mail.linkFor(workflow.id);
  const { parsed } = mail.mails.find(({ links }) => links.includes(link))!;
  expect(parsed.subject).toBe('Der KI-Agent „agent-7“ bittet Sie, Ihre E-Mail-Adresse zu bestätigen');
  expect(parsed.text).toContain('Sie bestätigen nur eines');
  expect(parsed.html).toContain('<html lang="de">');
  expect((await startWorkflowRaw(service, startRequest({ locale: 'es' }))).status).toBe(422);
});

test('W12: a mail server that is away, then going down, gets the mail later with the same Message-ID and challenge; start gives 201 anyway', async () => {
  const gone = await startMailServer({ keep: true });
  const port = Number(new URL(gone.url).port);
  await gone.close();
  const retrying = await startService({ settings: { SMTP_URL: gone.url, MAIL_FROM: 'qstamp <no-reply@qstamp.example>' } });
  const workflow = await startWorkflow(retrying);
  await eventually(async () => (await mailState(retrying, workflow.id))?.fault);
  const sources: string[] = [];
  await startMailServer({
    port,
    onData(stream, _session, done) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        sources.push(
          Buffer.concat(parts)
            .toString()
            .replaceAll(/(?<!\?)=\r?\n/g, '')
            .replaceAll('=3D', '='),
        );
        done(sources.length === 1 ? smtpReply(421, '4.3.2 going down') : null);
      });
    },
  });
  const sent = await eventually(async () => {
    const state = await mailState(retrying, workflow.id);
    return state?.sentAt ? state : undefined;
  });
  expect([sources.length, Number(sent.attempts) >= 3]).toEqual([2, true]);
  const found = (pattern: RegExp) => [...new Set(sources.map((source) => pattern.exec(source)?.[0]))];
  expect(found(/^Message-ID: \S+/im)).toEqual([expect.stringMatching(/@qstamp\.example>$/)]);
  const links = found(/https?:\/\/\S+\/c\/\S+\/[\w-]{43}/);
  expect(links).toHaveLength(1);
  expect((await openLink(links[0] ?? '')).status).toBe(200);
});

test('W12: 550 is final and visible to operators, but no address from the server’s answer is shown', async () => {
  const workflow = await startWorkflow(service, { user_email: 'nobody.at.all@example.com' });
  const state = await eventually(async () => {
    const stored = await mailState(service, workflow.id);
    return stored?.failedAt ? stored : undefined;
  });
  expect(state).toMatchObject({ attempts: 1, fault: 'SMTP 550 5.1.1' });
  const log = () => service.workers.map((worker) => worker.output()).join('');
  const isTold = (line: string) => /"level":"error".*the mail with the link was given up/.test(line) && line.includes(workflow.id);
  await eventually(async () => log().split('\n').some(isTold));
  expect(log()).not.toContain('nobody.at.all');
});
