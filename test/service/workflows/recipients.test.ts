import { expect, test } from 'vitest';
import { normalizedRecipient } from '../../../src/shared/domain/recipient.ts';
import { runOperator } from '../../support/cli.ts';
import { startMailServer } from '../../support/mail.ts';
import { eventually, getJson, postJson, randomHash } from '../../support/requests.ts';
import { startService } from '../../support/service.ts';
import { redactWorkflow, startRequest, startWorkflow, startWorkflowRaw } from '../../support/workflows.ts';

test.each([
  ['Jane.Doe+news@Example.COM', 'jane.doe@example.com'],
  ['jane@bücher.example', 'jane@xn--bcher-kva.example'],
  ['J.a.n.e+x+y@GoogleMail.com', 'jane@gmail.com'],
  ['jane@gmail.com', 'jane@gmail.com'],
  ['+tag@example.com', '+tag@example.com'],
  ['"a@b"@example.com', '"a@b"@example.com'],
])('%s is the mailbox %s', (address, mailbox) => expect(normalizedRecipient(address)).toBe(mailbox));

async function startMailed(settings: Record<string, string> = {}) {
  const mail = await startMailServer();
  const limits = { RATE_WORKFLOW_START_PER_HOUR: '0', RATE_RECIPIENT_PER_HOUR: '3', RATE_RECIPIENT_PER_DAY: '4' };
  const service = await startService({ settings: { SMTP_URL: mail.url, TRUST_PROXY: '127.0.0.1', ...limits, ...settings } });
  const start = (user_email: string) =>
    startWorkflowRaw(service, startRequest({ user_email }), { 'x-forwarded-for': `192.0.2.${Math.ceil(Math.random() * 250)}` });
  const mailsTo = (address: string) => mail.mails.filter(({ recipients }) => recipients.includes(address));
  return { mail, service, start, mailsTo };
}

test('R9: a recipient gets at most three mails an hour, whoever asks and however the address is written; others still get theirs', async () => {
  const { service, start, mailsTo } = await startMailed();
  const key = { 'idempotency-key': randomHash() };
  const request = startRequest({ user_email: 'jane@example.com' });
  for (let time = 0; time < 3; time += 1) expect((await startWorkflowRaw(service, request, key)).status).toBe(201);
  expect((await start('JANE@example.com')).status).toBe(201);
  const third = await start('jane+work@Example.com');
  expect(third.status).toBe(201);
  const refused = await start('jane+x@example.com');
  expect([refused.status, refused.body.code, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, 'recipient_limited', true]);
  expect(JSON.stringify(refused.body)).not.toContain('example.com');
  const headers = { authorization: `Workflow ${third.body.workflow_token}` };
  const resent = await postJson(service, `/api/v1/workflow/${third.body.workflow_id}/resend`, undefined, headers);
  expect([resent.status, resent.body.code]).toEqual([429, 'recipient_limited']);
  expect((await start('john@example.com')).status).toBe(201);
  await eventually(async () => mailsTo('john@example.com').length === 1);
  expect(mailsTo('jane@example.com')).toHaveLength(1);
});

test('R9: a start that is refused for its recipient does not count for the address', async () => {
  const { service } = await startMailed({ RATE_WORKFLOW_START_PER_HOUR: '2', RATE_RECIPIENT_PER_HOUR: '2', RATE_RECIPIENT_PER_DAY: '1' });
  const start = async (user_email: string) => {
    const { status, body, headers } = await startWorkflowRaw(service, startRequest({ user_email }));
    return [status, body.code, headers.get('ratelimit-remaining'), body.detail];
  };
  expect(await start('jane@example.com')).toMatchObject([201, undefined, '1', undefined]);
  const limited = [429, 'recipient_limited', '1', expect.stringContaining('(limit recipient-day)')];
  for (const _ of [1, 2, 3]) expect(await start('jane@example.com')).toMatchObject(limited);
  expect(await start('john@example.com')).toMatchObject([201, undefined, '0', undefined]);
  expect(await start('jack@example.com')).toMatchObject([429, 'rate_limited', '0', expect.stringContaining('(limit workflow-start)')]);
});

test('R9: the link in a mail stops all mails to its recipient, also queued ones, until the operator allows them', async () => {
  const { service, start, mailsTo } = await startMailed({ RATE_RECIPIENT_PER_HOUR: '0', RATE_RECIPIENT_PER_DAY: '0' });
  const jane = 'jane@example.com';
  const workflow = await startWorkflow(service, { user_email: jane });
  const [mail] = await eventually(async () => mailsTo(jane).length > 0 && mailsTo(jane));
  const link = mail?.links.find((each) => each.includes('/mail/stop/')) ?? '';
  expect(mail?.source).toContain('List-Unsubscribe-Post: List-Unsubscribe=One-Click');
  expect(mail?.parsed.headers.find(({ key }) => key === 'list-unsubscribe')?.value).toBe(`<${link}>`);
  const stop = async (address: string) => {
    const answer = await fetch(address, { method: 'POST', body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) });
    return [answer.status, await answer.text()];
  };

  expect(await (await fetch(link)).text()).toContain('Stop these mails?');
  expect([(await stop(link.slice(0, -1)))[0], (await stop(`${link.slice(0, -2)}AA`))[0]]).toEqual([422, 404]);
  // Opening the link and wrong links stop nothing.
  expect((await start(jane)).status).toBe(201);
  await eventually(async () => mailsTo(jane).length === 2);

  // The link outlives its workflow's data.
  await redactWorkflow(service, workflow);
  await service.workers[0]?.stop();
  const queued = await startWorkflow(service, { user_email: jane });
  for (const _ of [1, 2]) expect(await stop(link)).toEqual([200, expect.stringContaining('You get no more mails from us')]);
  expect(await start('Jane+again@example.com')).toMatchObject({ status: 403, body: { code: 'recipient_blocked' } });
  await service.startWorker();
  const stateOf = async () => (await getJson(service, `/api/v1/workflow/${queued.id}`, queued.headers)).body.mail as { status: string };
  await eventually(async () => (await stateOf()).status === 'failed');
  expect(mailsTo(jane)).toHaveLength(2);
  expect((await start('john@example.com')).status).toBe(201);

  const said: string[] = [];
  const run = async (...args: string[]) => {
    const { code, stdout } = await runOperator(['mails', ...args], service.settings);
    said.push(stdout);
    return code;
  };
  expect([await run('blocked', jane), await run('allow', jane.toUpperCase()), await run('blocked', jane)]).toEqual([0, 0, 1]);
  expect(said.join('')).toMatch(/stopped the mails on 20.*\n.*may go to it again\n.*not blocked\n/);
  expect([await run('allow'), await run('forget', 'a@b')]).toEqual([2, 2]);
  expect((await start(jane)).status).toBe(201);
});
