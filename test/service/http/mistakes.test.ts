import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { freshAddress, limitedService } from '../../support/limited-service.ts';
import { getJson, internalHeaders, postJson, randomHash, stampAgent, stampInternal } from '../../support/requests.ts';
import { completeWorkflow, redactWorkflow, startWorkflow } from '../../support/workflows.ts';

const service = await limitedService();
const workflow = await startWorkflow(service, {}, freshAddress());

type From = Record<string, string>;
type Ask = (from: From) => Promise<{ readonly status: number; readonly headers: Headers }>;

/** Asks five times from one address. */
async function five(ask: Ask, from: From = freshAddress()) {
  const statuses: number[] = [];
  for (let count = 0; count < 5; count += 1) statuses.push((await ask(from)).status);
  return statuses;
}
const times = (status: number) => Array.from({ length: 5 }, () => status);

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'service_verify_token', arguments: { token: 'x' } } };
const mcp = (message: object, from: From) => postJson(service, '/mcp', message, from);
const stamp = (headers: From) => postJson(service, '/api/v1/internal/v1/stamp', { hash: randomHash() }, headers);
const wrongly: Ask = (from) => stamp({ ...from, 'x-service-token': 'wrong' });
const get = (path: string, headers: From) => getJson(service, path, { ...headers, accept: 'application/json' });
const state = (token: string, from: From) => get(`/api/v1/workflow/${workflow.id}`, { ...from, authorization: `Workflow ${token}` });
const link = (id: string) => (from: From) => get(`/api/v1/workflow/${id}/verify-user?challenge=${'A'.repeat(43)}`, from);
const verify = (id: unknown, from: From) => get(`/api/v1/verify/v1/token/${id}`, from);

const { body: existing } = await stamp(internalHeaders);

test.each<[string, number, Ask, Ask?]>([
  ['a wrong service token', 401, wrongly, (from) => stamp({ ...from, ...internalHeaders })],
  ['a tool of /mcp without a token (M7)', 401, (from) => mcp(call, from), (from) => mcp({ jsonrpc: '2.0', id: 1, method: 'ping' }, from)],
  ['a guessed workflow token', 401, (from) => state('wrong', from)],
  ['a mail link of an unknown workflow', 404, (from) => link(randomUUID())(from)],
  ['an unknown stamp', 200, (from) => verify(randomUUID(), from), (from) => verify(existing.token_id, from)],
  ['unknown sealed content', 404, (from) => get(`/api/v1/sealed/v1/${randomUUID()}/${'A'.repeat(43)}`, from)],
  ['a view of the page of a workflow (R6)', 200, (headers) => service.fetch(`/workflow/${workflow.id}`, { headers })],
])('R5: %s is %i, and 429 after some tries from one address; the right request still passes', async (_what, status, ask, right) => {
  const from = freshAddress();
  expect(await five(ask, from)).toEqual([status, status, status, 429, 429]);
  const { headers } = await ask(from);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await ask(freshAddress())).status).toBe(status);
  if (right) expect(await five(right, from)).toEqual(times((await right(freshAddress())).status));
});

test('R5: in a batch at /mcp, each call above the limit gets its own error', async () => {
  const from = freshAddress();
  await five((address) => mcp(call, address), from);
  const batch = [
    { ...call, id: 'a' },
    { ...call, id: 'b' },
    { jsonrpc: '2.0', id: 'c', method: 'ping' },
  ] as const;
  const limited = { code: -32029, data: { code: 'rate_limited' } };
  expect((await mcp(batch, from)).body).toMatchObject([
    { id: 'a', error: limited },
    { id: 'b', error: limited },
    { id: 'c', result: {} },
  ]);
});

test('E16: a service token in Authorization is 401, and the answer says where it belongs, also at /mcp', async () => {
  const headers = { authorization: `Bearer ${internalHeaders['x-service-token']}` };
  const rest = await stamp({ ...freshAddress(), ...headers });
  const rpc = await mcp(call, { ...freshAddress(), ...headers });
  const said = expect.stringMatching(/X-Service-Token\. Send it there, not in Authorization\.$/);
  expect([rest.status, rest.body.detail]).toEqual([401, said]);
  expect([rpc.status, rpc.body]).toMatchObject([401, { error: { message: said } }]);
});

test('E16: a path without the tier is 404, and the answer names the three paths', async () => {
  const paths = ['basic', 'plus', 'sealed'].map((tier) => `/api/v1/agent/v1/stamp/${tier}`).join(', ');
  for (const path of ['/api/v1/agent/v1/stamp', '/api/v1/agent/v1/stamp/']) {
    const { status, body } = await postJson(service, path, { hash: randomHash() }, freshAddress());
    expect([status, body.detail]).toEqual([404, `There is nothing at this address, but there is at ${paths}.`]);
  }
});

test('E16: the id of a stamp is no token, and the reason says where an id is verified', async () => {
  const { status, body } = await postJson(service, '/api/v1/verify/v1/raw', { token: existing.token_id }, freshAddress());
  expect([status, body.valid, body.reason]).toEqual([
    200,
    false,
    expect.stringMatching(/^\w+: .*\. This looks like the id .*\/token\/\{id\}\.$/),
  ]);
});

test('R5: an address that guessed workflow tokens is blocked even with the right one; the holder at another address is not', async () => {
  const from = freshAddress();
  await five((address) => state('wrong', address), from);
  expect((await state(workflow.token, from)).status).toBe(429);
  expect(await five((address) => state(workflow.token, address))).toEqual(times(200));
});

test('R5: wrong links have only their own limit of tries, also after wrong tokens from the same address', async () => {
  const [open, closed, redacted] = await Promise.all(Array.from({ length: 3 }, () => startWorkflow(service, {}, freshAddress())));
  expect((await completeWorkflow(service, closed!)).status).toBe(200);
  await redactWorkflow(service, redacted!);
  const from = freshAddress();
  await five(wrongly, from);
  expect([403, 410]).toEqual(expect.arrayContaining([...(await five(link(open!.id), from)), (await link(open!.id)(from)).status]));
  for (const { id } of [closed!, redacted!]) expect(await five(link(id), from)).toEqual(times(410));
});

test('R1: a replay of an agent never counts for its limit (S9)', async () => {
  const from = freshAddress();
  const ask = (body: object, headers = {}) => stampAgent(service, 'basic', body, { ...from, ...headers });
  const [request, key, other] = [{ hash: randomHash() }, { 'idempotency-key': randomHash() }, { hash: randomHash() }];
  expect([(await ask(request, key)).status, ...(await five(() => ask(other)))]).toEqual([201, 201, 201, 201, 429, 429]);
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
  const { status, body, headers } = await strange(sealed(41));
  expect([status, body.code, Number(headers.get('retry-after')) > 3_500]).toEqual([429, 'rate_limited', true]);
  expect(body.detail).toContain('At most 100 bytes of sealed content in 3600 seconds');
  expect((await strange(sealed(40))).status).toBe(201);
  expect((await strange({ hash: randomHash() })).status).toBe(201);
  expect((await stampInternal(service, sealed(600), from)).status).toBe(201);
});
