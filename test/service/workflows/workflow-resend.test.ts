import { expect, test } from 'vitest';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { mailedService } from '../../support/mailed-service.ts';
import { eventually, getJson, type JsonAnswer, postJson, randomHash } from '../../support/requests.ts';
import {
  completeWorkflow,
  openLink,
  redactWorkflow,
  type StartedWorkflow,
  stampOutput,
  startRequest,
  startWorkflow,
} from '../../support/workflows.ts';

const { mail, service } = await mailedService({ RATE_WORKFLOW_START_PER_HOUR: '5', RATE_WORKFLOW_STAMP_PER_MINUTE: '3' });

const resend = (workflow: StartedWorkflow, headers: Record<string, string> = {}): Promise<JsonAnswer> =>
  postJson(service, `/api/v1/workflow/${workflow.id}/resend`, undefined, { ...workflow.headers, ...headers });

const linksOf = (id: string): string[] => mail.mails.flatMap(({ links }) => links).filter((link) => link.includes(id));

/** The links mailed for a workflow, once there are this many. */
const untilMailed = (id: string, count: number): Promise<string[]> =>
  eventually(async () => (linksOf(id).length >= count ? linksOf(id) : undefined));

test('W6: resend mails a new link and ends the old one, also after too many tries or expiry; three an hour', async () => {
  const workflow = await startWorkflow(service, { tier: 'verified' });
  const [first = ''] = await untilMailed(workflow.id, 1);
  const wrong = `${first.slice(0, -1)}${first.endsWith('A') ? 'B' : 'A'}`;
  for (let tries = 0; tries < 5; tries += 1) await openLink(wrong);
  expect((await openLink(first)).body.reason).toBe('challenge_exhausted');
  const sent = { workflow_id: workflow.id, otp_sent_to: 'client@example.com', status: 'pending' };
  expect(await resend(workflow)).toMatchObject({ status: 202, body: sent });
  const second = (await untilMailed(workflow.id, 2))[1] ?? '';
  expect(await openLink(first)).toMatchObject({ status: 410, body: { reason: 'challenge_replaced' } });
  const page = await fetch(first, { headers: { accept: 'application/xhtml+xml' } });
  expect([page.status, await page.text()]).toEqual([410, expect.stringContaining('A newer link was sent')]);
  const workflows = collectionOf(await openDatabase(service), 'workflows');
  await workflows.updateOne({ _id: workflow.id }, { $set: { 'challenge.expiresAt': new Date(Date.now() - 1) } });
  expect((await openLink(second)).body.reason).toBe('challenge_expired');

  const key = { 'idempotency-key': 'once' };
  const twins = await Promise.all([resend(workflow, key), resend(workflow, key)]);
  const told = twins.map(({ status, headers }) => `${status} ${headers.get('idempotent-replayed')}`);
  expect(told.toSorted()).toEqual(['202 null', '202 true']);
  const third = (await untilMailed(workflow.id, 3))[2] ?? '';
  expect(await openLink(third)).toMatchObject({ status: 200, body: { status: 'active' } });
  expect(linksOf(workflow.id)).toHaveLength(3);
  expect(await resend(workflow)).toMatchObject({ status: 409, body: { reason: 'email_verified' } });
});

test('W6: a fourth resend within the hour is 429, a replay is not counted, a wrong token is 401, a redacted workflow 410', async () => {
  const workflow = await startWorkflow(service);
  expect((await resend({ ...workflow, headers: { authorization: 'Workflow wrong' } })).status).toBe(401);
  for (const key of ['a', 'b', 'c']) expect((await resend(workflow, { 'idempotency-key': key })).status).toBe(202);
  expect(await resend(workflow, { 'idempotency-key': 'b' })).toMatchObject({ status: 202 });
  const refused = await resend(workflow);
  expect([refused.status, refused.headers.get('ratelimit-limit')]).toEqual([429, '3']);
  await redactWorkflow(service, workflow);
  expect(await resend(workflow)).toMatchObject({ status: 410, body: { reason: 'email_redacted' } });
});

test('W16, W17: the state of a workflow, with more for the holder of its token; hashes in upper or lower case', async () => {
  const briefing = randomHash();
  const workflow = await startWorkflow(service, { briefing_hash: briefing.toUpperCase(), briefing_metadata: { round: 2 } });
  const path = `/api/v1/workflow/${workflow.id}`;
  const state = async (headers = {}) => (await getJson(service, path, headers)).body;
  const named = { workflow_id: workflow.id, tier: 'standard', verify_url: `/workflow/${workflow.id}` };
  const open = {
    ...named,
    status: 'pending',
    output_count: 0,
    chain_hash: briefing,
    merkle_root: null,
    confirmed_at: null,
    completed_at: null,
  };
  const shown = await state();
  expect(shown).toMatchObject(open);
  expect(shown).not.toHaveProperty('user_email');
  const told = await eventually(async () => {
    const body = await state(workflow.headers);
    return (body.mail as { status: string }).status === 'sent' && body;
  });
  const holder = { agent_id: 'agent-7', user_email: 'client@example.com', briefing_metadata: { round: 2 } };
  expect(told).toMatchObject({ ...open, ...holder, mail: { status: 'sent', attempts: 1 } });
  expect((await getJson(service, path, { authorization: 'Workflow wrong' })).status).toBe(401);
  expect((await getJson(service, '/api/v1/workflow/00000000-0000-7000-8000-000000000000')).status).toBe(404);

  const output = randomHash();
  expect((await stampOutput(service, workflow, { output_hash: output.toUpperCase() })).status).toBe(201);
  await completeWorkflow(service, workflow);
  const closed = await state();
  expect(closed).toMatchObject({ status: 'completed', output_count: 1, merkle_root: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(closed.chain_hash).not.toBe(briefing);
  expect(await (await service.fetch(`/workflow/${workflow.id}?find=${output}`)).text()).toContain('output-1');
});

test('S9: replays never count for a limit', async () => {
  const workflow = await startWorkflow(service);
  const request = { output_hash: randomHash() };
  const stamp = (body = {}, key = {}) => stampOutput(service, workflow, body, key);
  for (let time = 0; time < 7; time += 1) expect((await stamp(request, { 'idempotency-key': 'twin' })).status).toBe(201);
  expect([await stamp(), await stamp(), await stamp()].map(({ status }) => status)).toContain(429);
  expect((await stamp(request, { 'idempotency-key': 'twin' })).status).toBe(201);

  const body = startRequest();
  const start = () => postJson(service, '/api/v1/workflow/start', body, { 'idempotency-key': 'start-of-a-workflow' });
  const { status, body: started } = await start();
  expect(status).toBe(201);
  // This test process has started all the workflows of the limit.
  expect((await postJson(service, '/api/v1/workflow/start', startRequest())).status).toBe(429);
  expect(await start()).toMatchObject({ status: 201, body: started });
});
