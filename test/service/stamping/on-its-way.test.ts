import { describe, expect, test } from 'vitest';
import {
  eventually,
  getJson,
  internalHeaders,
  type JsonAnswer,
  type JsonObject,
  postJson,
  randomHash,
  stampAgent,
  stampInternal,
} from '../../support/requests.ts';
import { addWorker, type RunningService, sharedService } from '../../support/service.ts';
import { arrived, startReceiver, webhookSecret } from '../../support/webhook-receiver.ts';
import { completeWorkflow, type StartedWorkflow, stampOutput, startWorkflow } from '../../support/workflows.ts';

const respondAsync = { prefer: 'respond-async' };
const service = await sharedService({ settings: { WEBHOOK_SECRET: webhookSecret } });
/** It stamps nothing until a test adds a worker. */
const idle = await sharedService({ workers: 0 });

const itemsOf = ({ body }: JsonAnswer) => body as unknown as JsonObject[];
const stampMany = (at: RunningService, items: unknown, headers: Record<string, string> = {}) =>
  postJson(at, '/api/v1/internal/v1/stamps?details=true', items, { ...internalHeaders, ...headers });
const stampOutputs = (at: RunningService, { id, headers }: StartedWorkflow, items: unknown, more: Record<string, string> = {}) =>
  postJson(at, `/api/v1/workflow/${id}/stamps`, items, { ...headers, ...more });
const outputOf = (more: JsonObject = {}): JsonObject => ({ output_hash: randomHash(), output_type: 'text', ...more });
const chainOf = async (at: RunningService, { id }: StartedWorkflow) => {
  const { body } = await getJson(at, `/workflow/${id}/outputs.json`);
  return (body.outputs as JsonObject[]).map(({ output_hash }) => output_hash);
};

describe('N1: Prefer: respond-async', () => {
  test('S9: is 202 at once with id and address, also when repeated; later the address gives the stamp, and a repeat is 201', async () => {
    const hash = randomHash();
    const keyed = { ...respondAsync, 'idempotency-key': randomHash() };
    const { status, headers, body } = await stampInternal(idle, { hash }, keyed);
    const again = await stampInternal(idle, { hash }, keyed);
    expect([again.status, again.body]).toEqual([202, body]);
    expect(status).toBe(202);
    expect([headers.get('preference-applied'), headers.get('location')]).toEqual(['respond-async', body.verify_url]);
    expect(body).toEqual({
      token_id: expect.any(String),
      status: 'accepted',
      verify_url: `/api/v1/verify/v1/token/${body.token_id}`,
      sealed_storage_url: null,
    });
    const agent = await stampAgent(idle, 'sealed', { content_b64: 'aGVsbG8=' }, { prefer: 'wait=1, respond-async' });
    expect([agent.status, agent.body.sealed_storage_url]).toEqual([202, expect.stringContaining('/api/v1/sealed/')]);
    const waited = idle.fetch(String(body.verify_url), { headers: { prefer: 'wait=20' } });
    await addWorker(idle);
    const answer = await waited;
    expect(answer.headers.get('preference-applied')).toBe('wait=20');
    expect(await answer.json()).toMatchObject({ valid: true, content_sha256: hash });
    const late = await stampInternal(idle, { hash }, keyed);
    expect([late.status, late.body.token_id, late.headers.get('idempotent-replayed')]).toEqual([201, body.token_id, 'true']);
  });

  test('RFC 7240 §4.3: with `wait` it first waits that long, for one, for many and for outputs', async () => {
    const prefer = { prefer: 'respond-async, wait=20' };
    const hash = randomHash();
    const { status, body } = await stampInternal(service, { hash }, prefer);
    expect([status, body.content_sha256]).toEqual([201, hash]);
    const many = await stampMany(service, [{ hash: randomHash() }, { hash: randomHash() }], prefer);
    expect([many.status, itemsOf(many).map(({ tsp_provider }) => tsp_provider)]).toEqual([200, ['mock', 'mock']]);
    const workflow = await startWorkflow(service);
    const outputs = await stampOutputs(service, workflow, [outputOf(), outputOf()], prefer);
    expect([outputs.status, itemsOf(outputs).map(({ sequence_number }) => sequence_number)]).toEqual([200, [1, 2]]);
    const one = await postJson(service, `/api/v1/workflow/${workflow.id}/stamp`, outputOf(), { ...workflow.headers, ...prefer });
    expect([one.status, one.body.sequence_number]).toEqual([201, 3]);

    const waited = await stampInternal(idle, { hash }, { prefer: 'respond-async, wait=1' });
    expect([waited.status, waited.headers.get('preference-applied')]).toEqual([202, 'respond-async, wait=1']);
  });

  test('Prefer: wait ends after its time, and waits only for stamps of its own request', async () => {
    const { body } = await stampInternal(service, { hash: randomHash() });
    const unknown = `${String(body.token_id).slice(0, -4)}0000`;
    const askedAt = Date.now();
    const answer = await service.fetch(`/api/v1/verify/v1/token/${unknown}`, { headers: { prefer: 'wait=1' } });
    expect(await answer.json()).toMatchObject({ valid: false, reason: expect.stringContaining('unknown_token_id') });
    expect(Date.now() - askedAt).toBeGreaterThan(900);
    const old = await service.fetch('/api/v1/verify/v1/token/01890a5d-ac96-774b-bcce-b302099a8057', { headers: { prefer: 'wait=1000' } });
    expect(old.status).toBe(200);
  });
});

describe('N1, L1: Prefer: respond-async for many', () => {
  test('S9, L2: is 202 with the address of each in order, an error in place of an invalid item; a repeat is 200 once all are there', async () => {
    const hashes = [randomHash(), randomHash()];
    const request = [{ hash: hashes[0] }, { hash: 'x' }, { hash: hashes[1] }];
    const headers = { ...respondAsync, 'idempotency-key': randomHash() };
    const answer = await stampMany(idle, request, headers);
    expect([answer.status, answer.headers.get('preference-applied')]).toEqual([202, 'respond-async']);
    const first = itemsOf(answer);
    const accepted = { token_id: expect.any(String), status: 'accepted', sealed_storage_url: null };
    expect(first).toEqual([
      { ...accepted, verify_url: `/api/v1/verify/v1/token/${first[0]?.token_id}` },
      expect.objectContaining({ index: 1, status: 422, code: 'validation_failed' }),
      { ...accepted, verify_url: `/api/v1/verify/v1/token/${first[2]?.token_id}` },
    ]);
    const second = await stampMany(idle, request, headers);
    expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([202, 'true']);
    const idsOf = (items: JsonObject[]) => items.map(({ token_id }) => token_id);
    expect(idsOf(itemsOf(second))).toEqual(idsOf(first));
    await addWorker(idle);
    const third = await eventually(async () => {
      const late = await stampMany(idle, request, headers);
      return late.status === 200 && late;
    });
    expect([third.headers.get('preference-applied'), idsOf(itemsOf(third))]).toEqual([null, idsOf(first)]);
    expect(itemsOf(third).map(({ content_sha256 }) => content_sha256)).toEqual([hashes[0], undefined, hashes[1]]);
  });

  test('works for lines and for agents too', async () => {
    const lines = [{ hash: randomHash() }, { hash: randomHash(), callback_url: 'https://example.com/' }].map((item) =>
      JSON.stringify(item),
    );
    const init = { method: 'POST', headers: { 'content-type': 'application/x-ndjson', ...respondAsync }, body: `${lines.join('\n')}\n{` };
    const answer = await service.fetch('/api/v1/agent/v1/stamps', init);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([202, 'application/x-ndjson']);
    const [first, second, third] = (await answer.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as JsonObject);
    expect(first).toMatchObject({ status: 'accepted' });
    expect([second, third]).toMatchObject([
      { index: 1, status: 422 },
      { index: 2, status: 422 },
    ]);
  });

  test('if no item is valid, the answer is 200 and the preference is not applied', async () => {
    const answer = await stampMany(service, [{ hash: 'x' }], respondAsync);
    expect([answer.status, answer.headers.get('preference-applied')]).toEqual([200, null]);
  });

  test('N3: each item with a callback_url gets its own webhook with exactly the stamp of the 200', async () => {
    const { url, received } = await startReceiver();
    const request = Array.from({ length: 70 }, (_, index) => ({ hash: randomHash(), ...(index % 2 === 0 && { callback_url: url }) }));
    const key = { 'idempotency-key': randomHash() };
    expect((await stampMany(service, request, { ...key, ...respondAsync })).status).toBe(202);
    await arrived(received, 35);
    const stamps = itemsOf(await stampMany(service, request, key));
    const told = received.map(({ body }) => JSON.parse(body) as JsonObject);
    const byId = (a: JsonObject, b: JsonObject) => (String(a.token_id) < String(b.token_id) ? -1 : 1);
    expect(told.toSorted(byId)).toEqual(stamps.filter((_, index) => index % 2 === 0).toSorted(byId));
  });

  test('N2: a forbidden address is an error of that item only', async () => {
    const answer = await stampMany(service, [{ hash: randomHash() }, { hash: randomHash(), callback_url: 'ftp://example.com' }]);
    expect(itemsOf(answer)).toMatchObject([{ tier: 'basic' }, { index: 1, status: 422, detail: [{ loc: ['body', 1, 'callback_url'] }] }]);
  });
});

describe('N6: pending outputs', () => {
  test('S9: is 202 with the address of the stamp; outputs are numbered in order of acceptance; a repeat is 201 with the number', async () => {
    const workflow = await startWorkflow(idle);
    const given = [outputOf(), outputOf(), outputOf(), outputOf()];
    const keyed = { ...respondAsync, 'idempotency-key': randomHash() };
    const single = await stampOutput(idle, workflow, given[0], keyed);
    expect(single).toMatchObject({ status: 202 });
    expect(['preference-applied', 'location'].map((name) => single.headers.get(name))).toEqual(['respond-async', single.body.verify_url]);
    expect(single.body).toEqual({
      token_id: expect.any(String),
      status: 'accepted',
      verify_url: `/api/v1/verify/v1/token/${single.body.token_id}`,
      status_url: `/api/v1/workflow/${workflow.id}`,
    });
    const many = await stampOutputs(idle, workflow, [given[1], { output_hash: 'x', output_type: 'text' }, given[2]], respondAsync);
    expect(many.status).toBe(202);
    expect(itemsOf(many)).toMatchObject([{ status: 'accepted' }, { index: 1, status: 422 }, { status: 'accepted' }]);
    expect((await stampOutput(idle, workflow, given[3], respondAsync)).status).toBe(202);
    await addWorker(idle);
    await eventually(async () => (await chainOf(idle, workflow)).length === 4);
    expect(await chainOf(idle, workflow)).toEqual(given.map(({ output_hash }) => output_hash));
    const { status, body } = await stampOutput(idle, workflow, given[0], keyed);
    expect([status, body]).toMatchObject([201, { stamp_token_id: single.body.token_id, sequence_number: 1 }]);
  });

  test('completion waits for all outputs accepted before it', async () => {
    const workflow = await startWorkflow(idle);
    const given = Array.from({ length: 130 }, () => outputOf());
    expect((await stampOutputs(idle, workflow, given, respondAsync)).status).toBe(202);
    const completed = completeWorkflow(idle, workflow);
    await addWorker(idle);
    expect((await completed).body).toMatchObject({ status: 'completed', output_count: 130 });
  });

  test('callback_url, with a service token in addition to the workflow token, gets exactly the 201 of the output with details', async () => {
    const { url, received } = await startReceiver();
    const workflow = await startWorkflow(service);
    const both = { ...workflow.headers, ...internalHeaders };
    const { status, body } = await stampOutput(service, workflow, { callback_url: url }, { ...both, prefer: 'return=details' });
    expect(status).toBe(201);
    const [webhook] = await arrived(received);
    expect([webhook?.headers['qstamp-event'], webhook?.headers['webhook-id'], webhook?.body]).toEqual([
      'output.made',
      `output_${body.stamp_token_id}`,
      JSON.stringify(body),
    ]);
    const many = [outputOf({ callback_url: url }), outputOf(), outputOf({ callback_url: url })];
    const accepted = itemsOf(await stampOutputs(service, workflow, many, { ...both, ...respondAsync }));
    const told = (await arrived(received, 3)).slice(1).map((each) => JSON.parse(each.body) as JsonObject);
    const numbers = new Map(told.map(({ stamp_token_id, sequence_number }) => [stamp_token_id, sequence_number]));
    expect(accepted.map(({ token_id }) => numbers.get(token_id))).toEqual([2, undefined, 4]);
  });

  test('N2: without a valid service token, callback_url is 422; in a list, only for that item', async () => {
    const workflow = await startWorkflow(service);
    const output = outputOf({ callback_url: 'https://example.com/' });
    for (const headers of [{}, { 'x-service-token': 'wrong' }]) {
      const { status, body } = await stampOutput(service, workflow, output, headers);
      expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining('service token')]);
    }
    const many = await stampOutputs(service, workflow, [outputOf(), output]);
    expect(itemsOf(many)).toMatchObject([
      { sequence_number: 1 },
      { index: 1, status: 422, detail: [{ loc: ['body', 1, 'callback_url'] }] },
    ]);
  });
});
