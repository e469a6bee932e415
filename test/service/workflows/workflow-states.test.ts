import { describe, expect, test } from 'vitest';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { mailedService } from '../../support/mailed-service.ts';
import { mainText } from '../../support/page-text.ts';
import { eventually, getJson, postJson, randomHash, verifyById } from '../../support/requests.ts';
import { startService } from '../../support/service.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';
import {
  completeWorkflow,
  openLink,
  redactWorkflow,
  stampOutput,
  startRequest,
  startWorkflow,
  startWorkflowRaw,
} from '../../support/workflows.ts';

const { mail, service } = await mailedService({ PUBLIC_BASE_URL: 'https://stamps.example' });

const unknownId = '01890a5d-ac96-774b-bcce-b302099a8057';
const operations = ['stamp', 'complete', 'redact-pii'];
const post = (id: string, operation: string, headers: Record<string, string> = {}) =>
  postJson(service, `/api/v1/workflow/${id}/${operation}`, { output_hash: randomHash(), output_type: 'text' }, headers);
const expire = async (id: string) => {
  const db = await openDatabase(service);
  await collectionOf(db, 'workflows').updateOne({ _id: id }, { $set: { expiresAt: new Date(Date.now() - 1) } });
};

describe('the workflow token (E5)', () => {
  test.each(operations)('%s: missing, of another scheme or wrong is 401 with WWW-Authenticate: Workflow', async (operation) => {
    const workflow = await startWorkflow(service);
    const other = await startWorkflow(service);
    const wrong = [
      undefined,
      `Bearer ${workflow.token}`,
      workflow.token,
      'Workflow',
      'Workflow  ',
      `Workflow ${other.token}`,
      `Workflow x${workflow.token}`,
    ];
    for (const authorization of wrong) {
      const { status, headers, body } = await post(workflow.id, operation, authorization === undefined ? {} : { authorization });
      expect(status, String(authorization)).toBe(401);
      expect(headers.get('www-authenticate')).toBe('Workflow');
      expect(body).toEqual({ detail: expect.any(String), code: 'unauthorized', request_id: expect.any(String) });
    }
    const accepted = await post(workflow.id, operation, { authorization: `workflow ${workflow.token}` });
    expect([200, 201]).toContain(accepted.status);
  });

  test.each(operations)('%s: an unknown id is 404, an invalid id 422, and 401 comes before a bad body', async (operation) => {
    const workflow = await startWorkflow(service);
    expect((await post(unknownId, operation, workflow.headers)).status).toBe(404);
    const { status, body } = await post('not-a-uuid', operation, workflow.headers);
    expect([status, body]).toMatchObject([422, { detail: [{ type: 'uuid_parsing', loc: ['path', 'workflow_id'] }] }]);
    expect((await postJson(service, `/api/v1/workflow/${workflow.id}/${operation}`, { output_hash: 7 })).status).toBe(401);
  });

  test('only the hash of a token is stored', async () => {
    const workflow = await startWorkflow(service);
    const db = await openDatabase(service);
    const stored = JSON.stringify(await collectionOf(db, 'workflows').findOne({ _id: workflow.id }));
    expect(stored).toContain(workflow.id);
    expect(stored).not.toContain(workflow.token);
  });
});

describe('tiers and states', () => {
  test('W2: with the mock provider alone, qualified works from start to completion, and every page says test stamps', async () => {
    const workflow = await startWorkflow(service, { tier: 'qualified' });
    const pageOf = async () => mainText(await (await service.fetch(`/workflow/${workflow.id}`)).text());
    expect(await pageOf()).toMatch(/A test record without files.*test stamps of the provider mock/s);
    const link = (await mail.linkFor(workflow.id)).replace('https://stamps.example', service.url);
    expect(mainText(await (await fetch(link)).text())).toContain('makes test stamps only');
    const { status, body } = await stampOutput(service, workflow);
    expect(status).toBe(201);
    expect(await pageOf()).toMatch(/A test record of 1 file.*test stamps.*This service makes test stamps instead/s);
    expect((await completeWorkflow(service, workflow)).body).toMatchObject({ status: 'completed', output_count: 1 });
    expect(await pageOf()).toMatch(/Completed, with test stamps.*A test record of 1 file/s);
    expect((await verifyById(service, body.stamp_token_id)).body).toMatchObject({ valid: true, is_qualified: false, tsp_provider: 'mock' });
  });

  test('W2, W19: qualified gives 502 if no provider is qualified, numbers and closes nothing, and does not count as a failure', async () => {
    const settings = { ...providersSettings([{ tsa: await startTsa() }]), SMTP_URL: mail.url };
    const service = await startService({ settings });
    const workflow = await startWorkflow(service, { tier: 'qualified' });
    expect((await openLink(await mail.linkFor(workflow.id))).status).toBe(200);
    const refused = { status: 502, body: { code: 'tier_unavailable' } };
    for (let tries = 0; tries < 4; tries += 1) expect(await stampOutput(service, workflow)).toMatchObject(refused);
    expect(await completeWorkflow(service, workflow)).toMatchObject(refused);
    expect((await getJson(service, `/api/v1/workflow/${workflow.id}`)).body).toMatchObject({ status: 'active', output_count: 0 });
    const db = await openDatabase(service);
    expect(await collectionOf(db, 'outputs').countDocuments({ workflowId: workflow.id, kind: 'output' })).toBe(0);
    expect(await (await service.fetch(`/workflow/${workflow.id}`)).text()).not.toContain('the Merkle root is being stamped');
    const status = await eventually(async () => {
      const { body } = await getJson(service, '/api/v1/status');
      return (body.provider as { status: string }).status === 'operational' ? body : undefined;
    });
    // No stamp of this service ever fails.
    expect(status).toMatchObject({ status: 'operational', counters: { lifetime: { failed: 0 } }, queue: { depth: 0 } });
  });

  test('W5: past expires_at stamp, complete and verify-user are 410, redact-pii still works, and the page says expired', async () => {
    const workflow = await startWorkflow(service);
    const link = (await mail.linkFor(workflow.id)).replace('https://stamps.example', service.url);
    expect((await stampOutput(service, workflow)).status).toBe(201);
    await expire(workflow.id);
    const gone = { status: 410, body: { code: 'gone', reason: 'workflow_expired' } };
    expect(await stampOutput(service, workflow)).toMatchObject(gone);
    expect(await completeWorkflow(service, workflow)).toMatchObject(gone);
    expect(await openLink(link)).toMatchObject(gone);
    expect(await (await service.fetch(`/workflow/${workflow.id}`)).text()).toContain('Expired');
    expect((await redactWorkflow(service, workflow)).status).toBe(200);
  });

  test('W2, W13: standard can be completed with an unverified e-mail, as its page says; addresses are absolute, in answers and mail', async () => {
    const workflow = await startWorkflow(service);
    const { body } = await stampOutput(service, workflow);
    expect(body.verify_url).toBe(`https://stamps.example/workflow/${workflow.id}#output-1`);
    expect(body.workflow_anchor_url).toBe(`https://stamps.example/workflow/${workflow.id}`);
    expect((await completeWorkflow(service, workflow)).body.verify_url).toBe(`https://stamps.example/workflow/${workflow.id}`);
    expect(await (await service.fetch(`/workflow/${workflow.id}`)).text()).toContain('Not confirmed; ');
    expect(await mail.linkFor(workflow.id)).toMatch(/^https:\/\/stamps\.example\/api\/v1\/workflow\//);
  });

  test('the page accepts an upper-case id and any page number, and finds a hash', async () => {
    const workflow = await startWorkflow(service);
    const hash = randomHash();
    await stampOutput(service, workflow, { output_hash: hash });
    await stampOutput(service, workflow);
    for (const query of ['', '?page=0', '?page=-3', '?page=99', '?page=x', '?page=1e999', '?find=nonsense']) {
      const page = await service.fetch(`/workflow/${workflow.id.toUpperCase()}${query}`);
      expect(page.status, query).toBe(200);
      expect(await page.text(), query).toContain('id="output-2"');
    }
    const found = await (await service.fetch(`/workflow/${workflow.id}?find=${hash.toUpperCase()}`)).text();
    expect(found).toContain('data-found="1"');
  });
});

describe('Idempotency-Key (S9)', () => {
  test('start: a repeat gives the same workflow, the same token and one mail; another body is 409', async () => {
    const request = startRequest();
    const headers = { 'idempotency-key': randomHash() };
    const first = await startWorkflowRaw(service, request, headers);
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null]);
    await mail.linkFor(first.body.workflow_id);
    const second = await startWorkflowRaw(service, request, headers);
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(second.body).toEqual(first.body);
    expect(await startWorkflowRaw(service, { ...request, agent_id: 'other' }, headers)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_key_reused' },
    });
    const sent = mail.mails.filter(({ source }) => source.includes(String(first.body.workflow_id)));
    expect(sent).toHaveLength(1);
    const workflow = { id: String(first.body.workflow_id), headers: { authorization: `Workflow ${second.body.workflow_token}` } };
    expect((await post(workflow.id, 'stamp', workflow.headers)).status).toBe(201);
  });

  test('start: fifty requests at once with one key give one workflow', async () => {
    const request = startRequest();
    const headers = { 'idempotency-key': randomHash() };
    const answers = await Promise.all(Array.from({ length: 50 }, () => startWorkflowRaw(service, request, headers)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  test('stamp: a repeat gives the same output, also after completion; another body is 409', async () => {
    const workflow = await startWorkflow(service);
    const request = { output_hash: randomHash() };
    const headers = { 'idempotency-key': 'once' };
    const first = await stampOutput(service, workflow, request, headers);
    const others = await Promise.all(Array.from({ length: 20 }, () => stampOutput(service, workflow, request, headers)));
    for (const { status, body } of others) expect([status, body]).toEqual([201, first.body]);
    expect((await stampOutput(service, workflow, {}, headers)).status).toBe(409);
    expect((await completeWorkflow(service, workflow)).body.output_count).toBe(1);
    const replayed = await stampOutput(service, workflow, request, headers);
    expect([replayed.status, replayed.headers.get('idempotent-replayed'), replayed.body]).toEqual([201, 'true', first.body]);
  });

  test('complete and redact-pii: a repeat with the same key is a replay; with another key the answer is the same', async () => {
    const workflow = await startWorkflow(service);
    for (const operation of ['complete', 'redact-pii']) {
      const ask = (key: string) => post(workflow.id, operation, { ...workflow.headers, 'idempotency-key': key });
      const answers = [await ask('one'), await ask('one'), await ask('two')];
      expect(answers.map(({ status, headers }) => [status, headers.get('idempotent-replayed')])).toEqual([
        [200, null],
        [200, 'true'],
        [200, null],
      ]);
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    }
  });

  test('an operation without a body ignores the body', async () => {
    const workflow = await startWorkflow(service);
    for (const [type, body] of [
      ['application/x-www-form-urlencoded', '{}'],
      ['application/json', '{'],
      ['text/plain', 'x'.repeat(100_000)],
    ]) {
      const headers = { ...workflow.headers, 'content-type': type as string };
      const answer = await service.fetch(`/api/v1/workflow/${workflow.id}/complete`, { method: 'POST', headers, body: body as string });
      expect([type, answer.status]).toEqual([type, 200]);
    }
  });

  test('stamp: the same key in another workflow is a different key', async () => {
    const request = { output_hash: randomHash() };
    const headers = { 'idempotency-key': 'shared' };
    const answers = [await startWorkflow(service), await startWorkflow(service)].map((workflow) =>
      stampOutput(service, workflow, request, headers),
    );
    const [first, second] = await Promise.all(answers);
    expect([first?.status, second?.status]).toEqual([201, 201]);
    expect(first?.body.stamp_token_id).not.toBe(second?.body.stamp_token_id);
  });
});
