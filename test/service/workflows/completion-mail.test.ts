import { expect, test } from 'vitest';
import type { StoredStamp } from '../../../src/shared/store/stamps.ts';
import type { MailOutcome, WorkflowRecord } from '../../../src/shared/store/workflows.ts';
import type { Judgement } from '../../../src/shared/trust/judge.ts';
import { MailError, type Message } from '../../../src/workers/mail/index.ts';
import { sendCompletionMail } from '../../../src/workers/workflows/index.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { smtpReply, startMailServer } from '../../support/mail.ts';
import { mailedService } from '../../support/mailed-service.ts';
import { eventually, type JsonObject } from '../../support/requests.ts';
import { type RunningService, startService } from '../../support/service.ts';
import { openTestStore, workerTools } from '../../support/worker-tools.ts';
import { completeWorkflow, openLink, redactWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

const { mail, service } = await mailedService();
const subject = /(recorded|stamped) .*for you|without files/;

const completionMails = (mails: typeof mail.mails, { id }: StartedWorkflow) =>
  mails.filter(({ parsed, source }) => subject.test(parsed.subject ?? '') && source.replaceAll(/=\r?\n/g, '').includes(id));

async function confirmed(overrides: JsonObject = {}): Promise<StartedWorkflow> {
  const workflow = await startWorkflow(service, overrides);
  expect((await openLink(await mail.linkFor(workflow.id))).status).toBe(200);
  return workflow;
}

const stateOf = async (of: Pick<RunningService, 'settings'>, { id }: StartedWorkflow) =>
  (await collectionOf(await openDatabase(of), 'workflows').findOne({ _id: id }))?.completionMail as Record<string, unknown> | undefined;

const recorded = (of: Pick<RunningService, 'settings'>, workflow: StartedWorkflow) =>
  eventually(async () => {
    const state = await stateOf(of, workflow);
    return state?.sentAt || state?.failedAt ? state : undefined;
  });

/** Completes a confirmed workflow and waits for its mail. A mail of an earlier completion would have come before. */
async function letMailsPass(): Promise<void> {
  const last = await confirmed();
  await completeWorkflow(service, last);
  await recorded(service, last);
}

test('W27: the client of a confirmed workflow gets one mail with the record and the evidence, however often it is completed', async () => {
  const metadata = { title: 'Autumn issue', public: true };
  const workflow = await confirmed({ user_email: 'zoe@example.com', agent_id: 'Cover Artist', briefing_metadata: metadata });
  for (const name of ['cover.png', 'photos.zip']) await stampOutput(service, workflow, { output_metadata: { name, public: true } });
  await stampOutput(service, workflow, { output_metadata: { name: 'kept secret' } });
  for (let times = 0; times < 2; times += 1) await completeWorkflow(service, workflow);
  expect(await recorded(service, workflow)).toEqual({ sentAt: expect.any(Date) });
  await completeWorkflow(service, workflow);
  await letMailsPass();

  const [received, ...more] = completionMails(mail.mails, workflow);
  const [page, bundle, stop = ''] = received?.links ?? [];
  expect([more, received?.recipients]).toEqual([[], ['zoe@example.com']]);
  expect([page, bundle]).toEqual([`${service.url}/workflow/${workflow.id}`, `${service.url}/workflow/${workflow.id}/evidence.zip`]);
  for (const link of [page, bundle, stop]) expect((await fetch(link ?? '')).status).toBe(200);
  const { subject: title, messageId, headers = [], text = '' } = received?.parsed ?? {};
  expect([title, messageId]).toEqual(['The AI agent “Cover Artist” recorded 3 files for you', `<completed-${workflow.id}@qstamp.example>`]);
  expect(headers.find(({ key }) => key === 'list-unsubscribe')?.value).toBe(`<${stop}>`);
  expect(text.replace(/\s+/g, ' ')).toMatch(/for trials: they prove nothing.*“Cover Artist”.*the task “Autumn issue”/);
  // The name of a zip file is the name of a web site too, and the third name is not public.
  expect(text).toContain('\n- cover.png\n- and 2 more files\n');
  expect(text).not.toMatch(/photos|kept secret/);
  expect(service.workers.map((worker) => worker.output()).join('')).not.toContain('zoe@');
});

test('W27: no mail goes to an address that was not confirmed, was erased, or whose owner stopped the mails', async () => {
  const unconfirmed = await startWorkflow(service);
  const erased = await confirmed();
  await redactWorkflow(service, erased);
  const stopped = await confirmed({ user_email: 'stopped@example.com' });
  const link = await mail.linkFor(stopped.id);
  const stopLink = mail.mails.find(({ links }) => links.includes(link))?.links.at(-1) ?? '';
  expect((await fetch(stopLink, { method: 'POST' })).status).toBe(200);
  for (const workflow of [unconfirmed, erased, stopped]) expect((await completeWorkflow(service, workflow)).status).toBe(200);
  expect(await recorded(service, stopped)).toEqual({ failedAt: expect.any(Date), fault: 'the recipient has stopped mails' });
  await letMailsPass();
  for (const workflow of [unconfirmed, erased, stopped]) expect(completionMails(mail.mails, workflow)).toEqual([]);
  expect([await stateOf(service, unconfirmed), await stateOf(service, erased)]).toEqual([undefined, undefined]);
});

test('W27: a mail server that refuses for a moment gets the mail later', async () => {
  const operator = 'Müller, "Stamps" & Co.';
  let refusals = 0;
  const server = await startMailServer({ onRcptTo: (_to, _session, done) => done(refusals-- > 0 ? smtpReply(450, '4.2.1 busy') : null) });
  const retrying = await startService({ settings: { SMTP_URL: server.url, OPERATOR_NAME: operator } });
  const late = await startWorkflow(retrying);
  await openLink(await server.linkFor(late.id));
  refusals = 1;
  const sender = { name: operator, address: 'no-reply@localhost' };
  expect((await completeWorkflow(retrying, late)).status).toBe(200);
  expect(await recorded(retrying, late)).toEqual({ fault: 'SMTP 450 4.2.1', sentAt: expect.any(Date) });
  expect(completionMails(server.mails, late)).toHaveLength(1);
  const senders = server.mails.map(({ parsed }) => parsed.from);
  expect(senders).toEqual([sender, sender]);
});

/** The job with a stored workflow that a test changes, and everything that was sent and recorded. */
function jobWith(stored: Partial<WorkflowRecord> = {}, seals = { tokens: 2, isValid: true }) {
  const sent: Message[] = [];
  const outcomes: MailOutcome[] = [];
  const workflow = {
    ...{ _id: '01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10', email: 'zoe@example.com', agentId: 'agent', status: 'completed' },
    ...{ emailVerifiedAt: new Date(0), completedAt: new Date(0), root: { hash: '', outputCount: 1 } },
    ...{ closing: { rootTokenId: '', at: new Date(0) }, closingRecord: { text: '', tokenId: '' } },
    ...stored,
  } as WorkflowRecord;
  const state: { now: number; fault?: MailError | undefined } = { now: 0 };
  const stamps = Array(seals.tokens).fill({ proofs: [{ token: '', provider: 'acme' }] }) as StoredStamp[];
  const send = async (message: Message) => {
    if (state.fault) throw state.fault;
    sent.push(message);
  };
  const store = openTestStore();
  const tools = workerTools({
    store: {
      ...store,
      workflows: {
        ...store.workflows,
        find: async () => workflow,
        recordCompletionMail: async (_id, outcome) => void outcomes.push(outcome),
      },
      stamps: { ...store.stamps, findMany: async () => stamps },
    },
    tokenJudge: { judge: async () => ({ ok: seals.isValid }) as Judgement },
    mail: { send, readState: () => 'unknown' },
    clock: () => state.now,
  });
  const run = () =>
    sendCompletionMail(tools, { workflowId: workflow._id, acceptedAt: 0, requestId: 'r', baseUrl: 'https://stamps.example' });
  return { run, sent, outcomes, state };
}

test('W27: the job sends the same mail again if its worker ended before the outcome was recorded', async () => {
  const { run, sent } = jobWith();
  await run();
  await run();
  expect(sent).toEqual([sent[0], sent[0]]);
  expect(sent[0]?.messageId).toBe('<completed-01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10@qstamp.example>');
});

const good = { tokens: 2, isValid: true };
test.each<[string, Partial<WorkflowRecord>, typeof good]>([
  ['a stamp of the closing is missing', {}, { ...good, tokens: 1 }],
  ['a stamp of the closing does not verify', {}, { ...good, isValid: false }],
  ['it was sent', { completionMail: { sentAt: new Date(0) } }, good],
  ['it was given up', { completionMail: { failedAt: new Date(0), fault: 'SMTP 550' } }, good],
  ['the workflow was redacted meanwhile', { redactedAt: new Date(0) }, good],
])('W27: the job sends nothing if %s', async (_, stored, seals) => {
  const { run, sent, outcomes } = jobWith(stored, seals);
  await run();
  expect([sent, outcomes]).toEqual([[], []]);
});

test('W27: without a mail server the job is retried for an hour, then given up; a mail refused for good is given up at once', async () => {
  const { run, sent, outcomes, state } = jobWith();
  state.fault = new MailError('ESOCKET', { isFinal: false, isOfServer: true });
  await expect(run()).rejects.toThrow(MailError);
  state.now = 3_600_000;
  await run();
  state.now = 0;
  state.fault = new MailError('SMTP 550', { isFinal: true, isOfServer: false });
  await run();
  const givenUp = [
    { failedAt: new Date(3_600_000), fault: 'ESOCKET' },
    { failedAt: new Date(0), fault: 'SMTP 550' },
  ];
  expect([sent, outcomes]).toEqual([[], [{ fault: 'ESOCKET' }, ...givenUp]]);
});
