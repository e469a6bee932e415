import { createSecretKey } from 'node:crypto';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { StoredStamp } from '../../../src/shared/store/stamps.ts';
import type { MailOutcome, WorkflowRecord } from '../../../src/shared/store/workflows.ts';
import type { Judgement } from '../../../src/shared/trust/judge.ts';
import { createViewEngine } from '../../../src/shared/views/engine.ts';
import { createCompletionMailProcessor } from '../../../src/workers/workflows/completion-mail.ts';
import type { Message } from '../../../src/workers/workflows/message.ts';
import { MailError } from '../../../src/workers/workflows/transport.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { smtpReply, startMailServer } from '../../support/mail.ts';
import { mailedService } from '../../support/mailed-service.ts';
import { eventually, type JsonObject } from '../../support/requests.ts';
import type { RunningService } from '../../support/service.ts';
import { startService } from '../../support/service.ts';
import { completeWorkflow, openLink, redactWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

const { mail, service } = await mailedService();
const subject = /stamped for you|without files/;

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
  const workflow = await confirmed({
    user_email: 'zoe@example.com',
    agent_id: 'Cover Artist',
    briefing_metadata: { title: 'Autumn issue', public: true },
  });
  await stampOutput(service, workflow);
  await stampOutput(service, workflow);
  const answer = await completeWorkflow(service, workflow);
  await completeWorkflow(service, workflow);
  expect(await recorded(service, workflow)).toEqual({ sentAt: expect.any(Date) });
  await completeWorkflow(service, workflow);
  await letMailsPass();

  const [received, ...more] = completionMails(mail.mails, workflow);
  expect(more).toEqual([]);
  expect(received?.recipients).toEqual(['zoe@example.com']);
  expect(received?.parsed.subject).toBe('2 files were stamped for you');
  expect(received?.parsed.messageId).toBe(`<completed-${workflow.id}@qstamp.example>`);
  const words = received?.parsed.text?.replace(/\s+/g, ' ');
  expect(words).toContain('calls itself "Cover Artist"');
  expect(words).toContain('the task "Autumn issue"');
  expect(words).toContain('test stamps: they prove nothing to a third party');
  const [page = '', bundle = '', stop = ''] = received?.links ?? [];
  expect([page, bundle]).toEqual([`${service.url}/workflow/${workflow.id}`, `${service.url}/workflow/${workflow.id}/evidence.zip`]);
  expect(answer.body.completed_at).toBeTruthy();
  expect([(await fetch(page)).status, (await fetch(bundle)).status, (await fetch(stop)).status]).toEqual([200, 200, 200]);
  expect(received?.parsed.headers.find(({ key }) => key === 'list-unsubscribe')?.value).toBe(`<${stop}>`);
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
  let refusals = 0;
  const server = await startMailServer({
    onRcptTo: (_recipient, _session, done) => done(refusals-- > 0 ? smtpReply(450, '4.2.1 busy') : null),
  });
  const retrying = await startService({ settings: { SMTP_URL: server.url } });
  const late = await startWorkflow(retrying);
  await openLink(await server.linkFor(late.id));
  refusals = 1;
  expect((await completeWorkflow(retrying, late)).status).toBe(200);
  expect(await recorded(retrying, late)).toEqual({ fault: 'SMTP 450 4.2.1', sentAt: expect.any(Date) });
  expect(completionMails(server.mails, late)).toHaveLength(1);
});

/** The processor with a stored workflow that a test changes, and everything that was sent and recorded. */
function processorOf(stored: Partial<WorkflowRecord>, seals = { tokens: 2, isValid: true }) {
  const sent: Message[] = [];
  const recorded: MailOutcome[] = [];
  const workflow = {
    _id: '01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10',
    email: 'zoe@example.com',
    agentId: 'agent',
    status: 'completed',
    emailVerifiedAt: new Date(0),
    completedAt: new Date(0),
    root: { hash: '', outputCount: 1 },
    closing: { rootTokenId: '', at: new Date(0) },
    closingRecord: { text: '', tokenId: '' },
    ...stored,
  } as WorkflowRecord;
  const state: { now: number; fault?: MailError | undefined } = { now: 0 };
  const process = createCompletionMailProcessor({
    workflows: { find: async () => workflow, recordCompletionMail: async (_id, outcome) => void recorded.push(outcome) },
    stamps: {
      findMany: async () =>
        Array.from({ length: seals.tokens }, () => ({ proofs: [{ token: '', provider: 'acme' }] }) as unknown as StoredStamp),
    },
    tokenJudge: { judge: async () => ({ ok: seals.isValid }) as Judgement },
    recipientKey: async () => createSecretKey(Buffer.alloc(32)),
    blockedRecipients: { blockedAt: async () => undefined },
    mail: {
      send: async (message) => {
        if (state.fault) throw state.fault;
        sent.push(message);
      },
    },
    mailFrom: 'qstamp <no-reply@qstamp.example>',
    operator: null,
    engine: createViewEngine(),
    publicBaseUrl: undefined,
    clock: () => state.now,
    log: pino({ level: 'silent' }),
  });
  const run = (job: { baseUrl?: string } = { baseUrl: 'https://stamps.example' }) =>
    process({ workflowId: workflow._id, acceptedAt: 0, requestId: 'r', ...job });
  return { run, sent, recorded, state };
}

describe('the job of the mail (W27)', () => {
  test('sends the same mail again if its worker ended before the outcome was recorded', async () => {
    const { run, sent } = processorOf({});
    await run();
    await run();
    expect(sent[0]).toEqual(sent[1]);
    expect(sent[0]?.messageId).toBe('<completed-01995f3a-7c1e-7d0b-9a52-3f2b8c6d4e10@qstamp.example>');
  });

  const good = { tokens: 2, isValid: true };
  test.each<[string, Partial<WorkflowRecord>, typeof good, { baseUrl?: string }?]>([
    ['a stamp of the closing is missing', {}, { ...good, tokens: 1 }],
    ['a stamp of the closing does not verify', {}, { ...good, isValid: false }],
    ['it was sent', { completionMail: { sentAt: new Date(0) } }, good],
    ['it was given up', { completionMail: { failedAt: new Date(0), fault: 'SMTP 550' } }, good],
    ['the workflow was redacted meanwhile', { redactedAt: new Date(0) }, good],
    ['neither a job of an earlier version nor the worker has a base URL', {}, good, {}],
  ])('sends nothing if %s', async (_, stored, seals, job) => {
    const { run, sent, recorded } = processorOf(stored, seals);
    await run(job);
    expect([sent, recorded]).toEqual([[], []]);
  });

  test('without a mail server it is retried for an hour, then given up; a mail that is refused for good is given up at once', async () => {
    const { run, sent, recorded, state } = processorOf({});
    state.fault = new MailError('ESOCKET', { isFinal: false, isOfServer: true });
    await expect(run()).rejects.toThrow(MailError);
    state.now = 3_600_000;
    await run();
    state.now = 0;
    state.fault = new MailError('SMTP 550', { isFinal: true, isOfServer: false });
    await run();
    expect(sent).toEqual([]);
    expect(recorded).toEqual([
      { fault: 'ESOCKET' },
      { failedAt: new Date(3_600_000), fault: 'ESOCKET' },
      { failedAt: new Date(0), fault: 'SMTP 550' },
    ]);
  });
});
