import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { freshAddress, limitedService } from '../../support/limited-service.ts';
import { getJson, internalHeaders, type JsonAnswer, postJson, randomHash, stampAgent, stampInternal } from '../../support/requests.ts';
import { completeWorkflow, redactWorkflow, startWorkflow } from '../../support/workflows.ts';

const service = await limitedService();
const workflow = await startWorkflow(service, {}, freshAddress());

/** Asks five times from one address; returns the statuses and the last answer. */
async function five(ask: (from: Record<string, string>) => Promise<JsonAnswer>, from = freshAddress()) {
  const answers: JsonAnswer[] = [];
  for (let count = 0; count < 5; count += 1) answers.push(await ask(from));
  const last = answers.at(-1);
  return { statuses: answers.map(({ status }) => status), headers: last?.headers, body: last?.body, from };
}

const stamp = (headers: Record<string, string>) => postJson(service, '/api/v1/internal/v1/stamp', { hash: randomHash() }, headers);
const state = (id: string, headers: Record<string, string>) => getJson(service, `/api/v1/workflow/${id}`, headers);
const withToken = (token: string) => ({ authorization: `Workflow ${token}` });

test('R5: many wrong service tokens give 429; the right one still passes from the same address and does not count', async () => {
  const { statuses, headers, body, from } = await five((address) => stamp({ ...address, 'x-service-token': 'wrong' }));
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect(body).toMatchObject({ code: 'rate_limited' });
  expect(Number(headers?.get('retry-after'))).toBeGreaterThan(0);
  expect(headers?.get('ratelimit-limit')).toBe('3');
  expect((await five((address) => stamp({ ...address, ...internalHeaders }), from)).statuses).toEqual([201, 201, 201, 201, 201]);
  expect((await stamp({ ...freshAddress(), 'x-service-token': 'wrong' })).status).toBe(401);
});

test('E16: a service token in Authorization is 401, and the answer says where it belongs', async () => {
  const { status, body } = await stamp({ ...freshAddress(), authorization: `Bearer ${internalHeaders['x-service-token']}` });
  expect([status, body.detail]).toEqual([401, expect.stringMatching(/X-Service-Token\. Send it there, not in Authorization\.$/)]);
});

test('R5: calls of /mcp without a token are limited too (M7)', async () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'service_verify_token', arguments: { token: 'x' } } };
  const { statuses, headers, body, from } = await five((address) => postJson(service, '/mcp', call, address));
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect(Number(headers?.get('retry-after'))).toBeGreaterThan(0);
  expect(body).toMatchObject({ id: 1, error: { code: -32029, data: { code: 'rate_limited' } } });
  const batch = [
    { ...call, id: 'a' },
    { ...call, id: 'b' },
    { jsonrpc: '2.0', id: 'c', method: 'ping' },
  ];
  const answers = (await postJson(service, '/mcp', batch, from)).body as unknown as { id: string; error?: { code: number } }[];
  expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
    ['a', -32029],
    ['b', -32029],
    ['c', undefined],
  ]);
  expect((await postJson(service, '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, from)).status).toBe(200);
});

test('R5: an address that guesses workflow tokens is blocked for a while; the token holder at another address is not', async () => {
  const { statuses, from } = await five((address) => state(workflow.id, { ...address, ...withToken('wrong') }));
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect((await state(workflow.id, { ...from, ...withToken(workflow.token) })).status).toBe(429);
  const holder = await five((address) => state(workflow.id, { ...address, ...withToken(workflow.token) }));
  expect(holder.statuses).toEqual([200, 200, 200, 200, 200]);
});

test('R5: mail links have a limit beyond the tries of one workflow', async () => {
  const path = () => `/api/v1/workflow/${randomUUID()}/verify-user?challenge=${'0'.repeat(64)}`;
  const { statuses } = await five((address) => getJson(service, path(), { ...address, accept: 'application/json' }));
  expect(statuses).toEqual([404, 404, 404, 429, 429]);
});

test('R5: wrong links have only their own limit of tries, also after wrong tokens from the same address', async () => {
  const path = (id: string) => `/api/v1/workflow/${id}/verify-user?challenge=${'A'.repeat(43)}`;
  const ask = (id: string) => (address: Record<string, string>) => getJson(service, path(id), { ...address, accept: 'application/json' });
  const [open, closed, redacted] = await Promise.all(Array.from({ length: 3 }, () => startWorkflow(service, {}, freshAddress())));
  expect((await completeWorkflow(service, closed!)).status).toBe(200);
  await redactWorkflow(service, redacted!);
  const { from } = await five((address) => stamp({ ...address, 'x-service-token': 'wrong' }));
  const tried = await five(ask(open!.id), from);
  expect(tried.statuses.filter((status) => status !== 403 && status !== 410)).toEqual([]);
  expect((await ask(open!.id)(from)).status).not.toBe(429);
  for (const { id } of [closed!, redacted!]) expect((await five(ask(id), from)).statuses).toEqual([410, 410, 410, 410, 410]);
});

test('R5: unknown ids count, and an existing stamp can still be verified', async () => {
  const { body } = await stamp(internalHeaders);
  const verify = (id: unknown, address: Record<string, string>) => getJson(service, `/api/v1/verify/v1/token/${id}`, address);
  const { statuses, from } = await five((address) => verify(randomUUID(), address));
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  expect((await verify(body.token_id, from)).body.valid).toBe(true);
  const sealed = await five((address) => getJson(service, `/api/v1/sealed/v1/${randomUUID()}/${'A'.repeat(43)}`, address));
  expect(sealed.statuses).toEqual([404, 404, 404, 429, 429]);
});

test('R5, R6: views of the page of a workflow are limited by address', async () => {
  const view = async (headers: Record<string, string>) => (await service.fetch(`/workflow/${workflow.id}`, { headers })).status;
  const from = freshAddress();
  expect([await view(from), await view(from), await view(from), await view(from)]).toEqual([200, 200, 200, 429]);
  expect(await view(freshAddress())).toBe(200);
});

test('R1: a replay of an agent never counts for its limit (S9)', async () => {
  const from = freshAddress();
  const ask = (body: object, headers = {}) => stampAgent(service, 'basic', body, { ...from, ...headers });
  const request = { hash: randomHash() };
  const key = { 'idempotency-key': randomHash() };
  const others = { hash: randomHash() };
  const answers = [await ask(request, key), await ask(others), await ask(others), await ask(others), await ask(others)];
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 429]);
  const replay = await ask(request, key);
  expect([replay.status, replay.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
});

test('R2: a caller without a service token may seal a limited number of bytes an hour; hashes, replays and other callers do not count', async () => {
  const from = freshAddress();
  const sealed = (bytes: number) => ({ content_b64: Buffer.alloc(bytes, 'x').toString('base64'), tier: 'sealed' });
  const key = { 'idempotency-key': randomHash() };
  const strange = (body: object, headers = {}) => stampAgent(service, 'sealed', body, { ...from, ...headers });
  expect((await strange(sealed(60), key)).status).toBe(201);
  expect((await strange(sealed(60), key)).headers.get('idempotent-replayed')).toBe('true');
  const refused = await strange(sealed(41));
  expect([refused.status, refused.body.code, Number(refused.headers.get('retry-after')) > 3_500]).toEqual([429, 'rate_limited', true]);
  expect(refused.body.detail).toContain('At most 100 bytes of sealed content in 3600 seconds');
  expect((await strange(sealed(40))).status).toBe(201);
  expect((await strange({ hash: randomHash() })).status).toBe(201);
  expect((await stampInternal(service, sealed(600), from)).status).toBe(201);
});
