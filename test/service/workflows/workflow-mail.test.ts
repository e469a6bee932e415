import { expect, onTestFinished, test } from 'vitest';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { smtpReply, startMailServer } from '../../support/mail.ts';
import { eventually } from '../../support/requests.ts';
import { addWorkerProcess, type Service, startService } from '../../support/service.ts';
import { createTlsIdentity } from '../../support/tls-identity.ts';
import { openLink, startWorkflow } from '../../support/workflows.ts';

const startWith = (SMTP_URL: string): Promise<Service> =>
  startService({ settings: { SMTP_URL, MAIL_FROM: 'qstamp <no-reply@qstamp.example>', OTP_TTL_MINUTES: '20' } });

const mailState = async (service: Service, id: string) =>
  (await collectionOf(await openDatabase(service), 'workflows').findOne({ _id: id }))?.mail as Record<string, unknown> | undefined;

test('the mail has one recipient, the same absolute link in text and HTML, and headers against automatic replies', async () => {
  const mail = await startMailServer();
  const service = await startWith(mail.url);
  const workflow = await startWorkflow(service, { user_email: 'zoe@example.com' });
  const link = await mail.linkFor(workflow.id);
  const [received] = mail.mails;
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
  expect(received?.parsed.text).toContain('calls itself "agent-7"');
  expect(received?.parsed.text).toMatch(/if you do not know this agent, do nothing/i);
  await eventually(async () => (await mailState(service, workflow.id))?.sentAt);
});

test('over TLS the mail goes only to a server with a trusted certificate', async () => {
  const { key, cert, certFile } = createTlsIdentity('127.0.0.1');
  const mail = await startMailServer({ secure: true, key, cert });
  const trusting = await startService({ workers: 0, settings: { SMTP_URL: mail.url } });
  await addWorkerProcess({ settings: { ...trusting.settings, NODE_EXTRA_CA_CERTS: certFile } });
  const trusted = await startWorkflow(trusting);
  await mail.linkFor(trusted.id);
  const distrusting = await startWith(mail.url);
  await startWorkflow(distrusting);
  await eventually(async () => distrusting.workers[0]?.output().includes('"queue":"emails"'));
  expect(mail.mails).toHaveLength(1);
});

test('a server without STARTTLS gets no mail, unless a setting allows plain SMTP', async () => {
  // 127.0.0.1 is trusted without TLS; its neighbour is not.
  const mail = await startMailServer({ host: '127.0.0.2' });
  const strict = await startWith(mail.url);
  await startWorkflow(strict);
  await eventually(async () => strict.workers[0]?.output().includes('"queue":"emails"'));
  expect(mail.mails).toHaveLength(0);
  const plain = await startWith(`${mail.url}?plain`);
  await mail.linkFor((await startWorkflow(plain)).id);
});

test.each([
  ['451 after the recipient', { onRcptTo: 451 }],
  ['421 after the data', { onData: 421 }],
])('W12: %s is retried with the same Message-ID and the same challenge', async (_, refusal) => {
  let refusals = 2;
  const seen: string[] = [];
  const mail = await startMailServer({
    ...('onRcptTo' in refusal && {
      onRcptTo: (_address, _session, done) => done(refusals-- > 0 ? smtpReply(451, '4.7.1 come back later') : null),
    }),
    ...('onData' in refusal && {
      onData(stream, _session, done) {
        const parts: Buffer[] = [];
        stream.on('data', (part: Buffer) => parts.push(part));
        stream.on('end', () => {
          seen.push(Buffer.concat(parts).toString());
          done(refusals-- > 0 ? smtpReply(421, '4.3.2 going down') : null);
        });
      },
    }),
  });
  const service = await startWith(mail.url);
  const workflow = await startWorkflow(service);
  await eventually(async () => (await mailState(service, workflow.id))?.sentAt);
  expect(await mailState(service, workflow.id)).toMatchObject({ attempts: 3 });
  const sources = seen.length > 0 ? seen : mail.mails.map(({ source }) => source);
  const idsOf = (name: RegExp) => new Set(sources.map((source) => name.exec(source)?.[1]));
  expect(idsOf(/^Message-ID: (\S+)/im).size).toBe(1);
  expect([...idsOf(/^Message-ID: (\S+)/im)][0]).toMatch(/@qstamp\.example>$/);
  const joined = sources.map((source) => source.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '='));
  const links = new Set(joined.map((source) => /https?:\/\/\S+challenge=[\w-]{43}/.exec(source)?.[0]));
  expect(links.size).toBe(1);
  expect((await openLink([...links][0] ?? '')).status).toBe(200);
});

test('W12: an unreachable mail server is retried; start gives 201 anyway', async () => {
  const gone = await startMailServer({ keep: true });
  const port = Number(new URL(gone.url).port);
  await gone.close();
  const service = await startWith(gone.url);
  const workflow = await startWorkflow(service);
  await eventually(async () => (await mailState(service, workflow.id))?.fault);
  const { startMailCatcher } = await import('../../../scripts/stack/mail-catcher.ts');
  const caught: string[] = [];
  const back = await startMailCatcher({ preferredPort: port, onMail: ({ links }) => caught.push(...links) });
  onTestFinished(() => back.stop());
  expect(back.port).toBe(port);
  const link = await eventually(async () => caught[0]);
  expect((await openLink(link)).status).toBe(200);
});

test('W12: 550 is final and visible to operators, but no address from the server’s answer is shown', async () => {
  const mail = await startMailServer({
    onRcptTo: ({ address }, _session, done) => done(smtpReply(550, `5.1.1 <${address}>: no such mailbox`)),
  });
  const service = await startWith(mail.url);
  const workflow = await startWorkflow(service, { user_email: 'nobody.at.all@example.com' });
  const state = await eventually(async () => {
    const stored = await mailState(service, workflow.id);
    return stored?.failedAt ? stored : undefined;
  });
  expect(state).toMatchObject({ attempts: 1, fault: 'SMTP 550 5.1.1' });
  const log = () => service.workers.map((worker) => worker.output()).join('');
  await eventually(async () => /"level":"error".*the mail with the link was given up/.test(log()));
  expect(log()).not.toContain('nobody.at.all');
});

test('the challenge and the address are nowhere in Redis while the mail waits', async () => {
  const mail = await startMailServer();
  const settings = { SMTP_URL: mail.url };
  const service = await startService({ workers: 0, settings });
  const workflow = await startWorkflow(service, { user_email: 'only.mongo@example.com' });
  const { dumpRedis } = await import('../../support/redis-dump.ts');
  const waiting = await dumpRedis(service.settings.REDIS_URL ?? '');
  expect(waiting).toContain(workflow.id);
  await service.startWorker();
  const challenge = new URL(await mail.linkFor(workflow.id)).searchParams.get('challenge') ?? '';
  expect(challenge).toMatch(/^[\w-]{43}$/);
  for (const secret of ['only.mongo', challenge, workflow.token]) {
    expect(waiting).not.toContain(secret);
    expect(await dumpRedis(service.settings.REDIS_URL ?? '')).not.toContain(secret);
  }
});
