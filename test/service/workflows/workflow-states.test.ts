import { describe, expect, test } from 'vitest';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { mailedService } from '../../support/mailed-service.ts';
import { mainText } from '../../support/page-text.ts';
import { eventually, getJson, postJson, randomHash, verifyById } from '../../support/requests.ts';
import { startService } from '../../support/service.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';
import { completeWorkflow, openLink, stampOutput, startRequest, startWorkflow, startWorkflowRaw } from '../../support/workflows.ts';

const { mail, service } = await mailedService({ PUBLIC_BASE_URL: 'https://stamps.example' });

const unknownId = '01890a5d-ac96-774b-bcce-b302099a8057';
const operations = ['stamp', 'complete', 'redact-pii'];
const post = (id: string, operation: string, headers: Record<string, string> = {}) =>
  postJson(service, `/api/v1/workflow/${id}/${operation}`, { output_hash: randomHash(), output_type: 'text' }, headers);
/** A mailed link at the real address of the service. */
const hereOf = (link: string) => link.replace('https://stamps.example', service.url);

test.each(operations)(
  'E5: %s: a missing or wrong token is 401, before a bad body; an unknown id is 404, an invalid one 422',
  async (operation) => {
    const [workflow, other] = [await startWorkflow(service), await startWorkflow(service)];
    for (const authorization of [
      undefined,
      `Bearer ${workflow.token}`,
      workflow.token,
      'Workflow',
      'Workflow  ',
      `Workflow ${other.token}`,
      `Workflow x${workflow.token}`,
    ]) {
      const { status, headers, body } = await post(workflow.id, operation, authorization === undefined ? {} : { authorization });
      expect(status, String(authorization)).toBe(401);
      expect(headers.get('www-authenticate')).toBe('Workflow');
      expect(body).toEqual({ detail: expect.any(String), code: 'unauthorized', request_id: expect.any(String) });
    }
    expect((await postJson(service, `/api/v1/workflow/${workflow.id}/${operation}`, { output_hash: 7 })).status).toBe(401);
    expect((await post(unknownId, operation, workflow.headers)).status).toBe(404);
    const { status, body } = await post('not-a-uuid', operation, workflow.headers);
    expect([status, body]).toMatchObject([422, { detail: [{ type: 'uuid_parsing', loc: ['path', 'workflow_id'] }] }]);
    expect([200, 201]).toContain((await post(workflow.id, operation, { authorization: `workflow ${workflow.token}` })).status);
    // Only the hash of a token is stored.
    const stored = JSON.stringify(await collectionOf(await openDatabase(service), 'workflows').findOne({ _id: workflow.id }));
    expect(stored).toContain(workflow.id);
    expect(stored).not.toContain(workflow.token);
  },
);

describe('tiers and states', () => {
  test('W2, W13: with the mock provider alone, qualified works, and all pages say test stamps; addresses are absolute', async () => {
    const workflow = await startWorkflow(service, { tier: 'qualified' });
    const address = `https://stamps.example/workflow/${workflow.id}`;
    const pageOf = async () => mainText(await (await service.fetch(`/workflow/${workflow.id}`)).text());
    expect(await pageOf()).toMatch(/A test record without files.*test stamps of the provider mock/s);
    const link = await mail.linkFor(workflow.id);
    expect(link).toMatch(/^https:\/\/stamps\.example\/api\/v1\/workflow\//);
    expect(mainText(await (await fetch(hereOf(link))).text())).toContain('makes test stamps only');
    const { status, body } = await stampOutput(service, workflow);
    expect([status, body]).toMatchObject([201, { verify_url: `${address}#output-1`, workflow_anchor_url: address }]);
    expect(await pageOf()).toMatch(/A test record of 1 file.*test stamps.*This service makes test stamps instead/s);
    const completed = { status: 'completed', output_count: 1, verify_url: address };
    expect((await completeWorkflow(service, workflow)).body).toMatchObject(completed);
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

  test('W5: past expires_at stamp, complete and verify-user are 410, and the page says expired', async () => {
    const workflow = await startWorkflow(service);
    const link = hereOf(await mail.linkFor(workflow.id));
    const db = await openDatabase(service);
    await collectionOf(db, 'workflows').updateOne({ _id: workflow.id }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    const gone = { status: 410, body: { code: 'gone', reason: 'workflow_expired' } };
    expect(await stampOutput(service, workflow)).toMatchObject(gone);
    expect(await completeWorkflow(service, workflow)).toMatchObject(gone);
    expect(await openLink(link)).toMatchObject(gone);
    expect(await (await service.fetch(`/workflow/${workflow.id}`)).text()).toContain('Expired');
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
  test('start: fifty requests at once with one key give one workflow, one token and one mail; another body is 409', async () => {
    const request = startRequest();
    const headers = { 'idempotency-key': randomHash() };
    const answers = await Promise.all(Array.from({ length: 50 }, () => startWorkflowRaw(service, request, headers)));
    const [first] = answers;
    for (const { status, body } of answers) expect([status, body]).toEqual([201, first?.body]);
    expect(answers.filter((answer) => answer.headers.get('idempotent-replayed') === null)).toHaveLength(1);
    expect(await startWorkflowRaw(service, { ...request, agent_id: 'other' }, headers)).toMatchObject({
      status: 409,
      body: { code: 'idempotency_key_reused' },
    });
    const id = String(first?.body.workflow_id);
    expect((await post(id, 'stamp', { authorization: `Workflow ${first?.body.workflow_token}` })).status).toBe(201);
    await mail.linkFor(id);
    expect(mail.mails.filter(({ source }) => source.includes(id))).toHaveLength(1);
  });

  test('stamp: a repeat gives the same output, also after completion; another body is 409; another workflow has its own keys', async () => {
    const [workflow, other] = [await startWorkflow(service), await startWorkflow(service)];
    const request = { output_hash: randomHash() };
    const headers = { 'idempotency-key': 'once' };
    const answers = await Promise.all(Array.from({ length: 21 }, () => stampOutput(service, workflow, request, headers)));
    const [first] = answers;
    for (const { status, body } of answers) expect([status, body]).toEqual([201, first?.body]);
    expect(answers.filter((answer) => answer.headers.get('idempotent-replayed') === null)).toHaveLength(1);
    expect((await stampOutput(service, workflow, {}, headers)).status).toBe(409);
    const elsewhere = await stampOutput(service, other, request, headers);
    expect([elsewhere.status, elsewhere.headers.get('idempotent-replayed')]).toEqual([201, null]);
    expect(elsewhere.body.stamp_token_id).not.toBe(first?.body.stamp_token_id);
    expect((await completeWorkflow(service, workflow)).body.output_count).toBe(1);
    const replayed = await stampOutput(service, workflow, request, headers);
    expect([replayed.status, replayed.headers.get('idempotent-replayed'), replayed.body]).toEqual([201, 'true', first?.body]);
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
});
