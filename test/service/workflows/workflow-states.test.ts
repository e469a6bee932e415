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
  'E5: %s without the right token is 401, before a bad body; an unknown id is 404, an invalid one 422',
  async (operation) => {
    const [workflow, other] = [await startWorkflow(service), await startWorkflow(service)];
    const { token, headers } = workflow;
    const path = `/api/v1/workflow/${workflow.id}/${operation}`;
    expect((await postJson(service, path, { output_hash: 7 })).status).toBe(401);
    for (const wrong of [`Bearer ${token}`, token, 'Workflow', 'Workflow  ', `Workflow ${other.token}`, `Workflow x${token}`]) {
      const answer = await post(workflow.id, operation, { authorization: wrong });
      expect([answer.status, answer.body.code, answer.headers.get('www-authenticate')], wrong).toEqual([401, 'unauthorized', 'Workflow']);
    }
    expect((await post(unknownId, operation, headers)).status).toBe(404);
    const fault = { type: 'uuid_parsing', loc: ['path', 'workflow_id'] };
    expect(await post('not-a-uuid', operation, headers)).toMatchObject({ status: 422, body: { detail: [fault] } });
    expect([200, 201]).toContain((await post(workflow.id, operation, { authorization: `workflow ${token}` })).status);
    // Only the hash of a token is stored.
    const stored = JSON.stringify(await collectionOf(await openDatabase(service), 'workflows').findOne({ _id: workflow.id }));
    expect([stored.includes(workflow.id), stored.includes(token)]).toEqual([true, false]);
  },
);

describe('tiers and states', () => {
  test('W2, W13: with the mock provider alone, qualified works, and all pages say test stamps; addresses are absolute', async () => {
    const workflow = await startWorkflow(service, { tier: 'qualified' });
    const address = `https://stamps.example/workflow/${workflow.id}`;
    const pageOf = async () => mainText(await (await service.fetch(`/workflow/${workflow.id}`)).text());
    expect(await pageOf()).toMatch(/recorded no file for .* yet.*This is a test record, with test stamps of the provider mock/s);
    const link = await mail.linkFor(workflow.id);
    expect(link).toMatch(/^https:\/\/stamps\.example\/c\//);
    expect(mainText(await (await fetch(hereOf(link))).text())).toContain('makes test stamps only');
    const { status, body } = await stampOutput(service, workflow);
    expect([status, body]).toMatchObject([201, { verify_url: `${address}#output-1`, workflow_anchor_url: address }]);
    expect(await pageOf()).toMatch(/recorded 1 file so far for .*This is a test record.*This service makes test stamps instead/s);
    const completed = { status: 'completed', output_count: 1, verify_url: address };
    expect((await completeWorkflow(service, workflow)).body).toMatchObject(completed);
    expect(await pageOf()).toMatch(/Record closed, with test stamps.*recorded 1 file for .*This is a test record/s);
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
  /** The one answer to many requests at once with one key; only one is not a replay. */
  const oneOf = async (count: number, ask: () => ReturnType<typeof postJson>) => {
    const answers = await Promise.all(Array.from({ length: count }, ask));
    for (const { status, body } of answers) expect([status, body]).toEqual([201, answers[0]?.body]);
    expect(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    return answers[0]!.body;
  };
  const reused = { status: 409, body: { code: 'idempotency_key_reused' } };

  test('start: fifty requests at once with one key give one workflow, one token and one mail; another body is 409', async () => {
    const request = startRequest();
    const headers = { 'idempotency-key': randomHash() };
    const { workflow_id, workflow_token } = await oneOf(50, () => startWorkflowRaw(service, request, headers));
    expect(await startWorkflowRaw(service, { ...request, agent_id: 'other' }, headers)).toMatchObject(reused);
    const id = String(workflow_id);
    expect((await post(id, 'stamp', { authorization: `Workflow ${workflow_token}` })).status).toBe(201);
    await mail.linkFor(id);
    expect(mail.mails.filter(({ source }) => source.includes(id))).toHaveLength(1);
  });

  test('stamp: a repeat gives the same output, also after completion; another body is 409; another workflow has its own keys', async () => {
    const [workflow, other] = [await startWorkflow(service), await startWorkflow(service)];
    const request = { output_hash: randomHash() };
    const headers = { 'idempotency-key': 'once' };
    const output = await oneOf(21, () => stampOutput(service, workflow, request, headers));
    expect(await stampOutput(service, workflow, {}, headers)).toMatchObject(reused);
    const elsewhere = await oneOf(1, () => stampOutput(service, other, request, headers));
    expect(elsewhere.stamp_token_id).not.toBe(output.stamp_token_id);
    expect((await completeWorkflow(service, workflow)).body.output_count).toBe(1);
    const replayed = await stampOutput(service, workflow, request, headers);
    expect([replayed.status, replayed.headers.get('idempotent-replayed'), replayed.body]).toEqual([201, 'true', output]);
  });

  test('complete and redact-pii: a repeat with the same key is a replay; with another key, or with any body, the answer is the same', async () => {
    const workflow = await startWorkflow(service);
    for (const operation of ['complete', 'redact-pii']) {
      const ask = async (key: string, body = '{}', type = 'application/json') => {
        const headers = { ...workflow.headers, 'idempotency-key': key, 'content-type': type };
        const answer = await service.fetch(`/api/v1/workflow/${workflow.id}/${operation}`, { method: 'POST', headers, body });
        return [answer.status, answer.headers.get('idempotent-replayed'), await answer.text()];
      };
      const first = await ask('one');
      const [, , text] = first;
      expect([first, await ask('one'), await ask('two')]).toEqual([
        [200, null, text],
        [200, 'true', text],
        [200, null, text],
      ]);
      expect(await ask('three', '{}', 'application/x-www-form-urlencoded')).toEqual([200, null, text]);
      expect(await ask('four', '{')).toEqual([200, null, text]);
      expect(await ask('five', 'x'.repeat(100_000), 'text/plain')).toEqual([200, null, text]);
    }
  });
});
