import { expect, test } from 'vitest';
import { postMcp, rpc } from '../../support/mcp.ts';
import { internalHeaders, postJson, randomHash } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';
import { stampOutput, startRequest, startWorkflow } from '../../support/workflows.ts';

const service = await sharedService({ settings: { RATE_WORKFLOW_START_PER_HOUR: '0' } });

const short = () => ({ 'idempotency-key': randomHash().slice(0, 15) });
const long = () => ({ 'idempotency-key': randomHash().slice(0, 16) });
const sentence = 'without a service token, an idempotency key has at least 16 characters';

/** Requests whose key belongs to the address of a caller without a token. */
const ofAddresses: readonly [path: string, body: () => unknown, status: number][] = [
  ['/api/v1/agent/v1/stamp/basic', () => ({ hash: randomHash() }), 201],
  ['/api/v1/agent/v1/stamp/plus', () => ({ hash: randomHash() }), 201],
  ['/api/v1/agent/v1/stamp/sealed', () => ({ content_b64: 'AAAA' }), 201],
  ['/api/v1/agent/v1/stamps', () => [{ hash: randomHash() }], 200],
  ['/api/v1/workflow/start', () => startRequest(), 201],
];

test.each(ofAddresses)('S9: %s refuses an anonymous key of 15 characters, and takes one of 16', async (path, body, status) => {
  const key = short();
  const item = {
    type: 'value_error',
    loc: ['header', 'idempotency-key'],
    msg: `Value error, ${sentence}`,
    input: key['idempotency-key'],
    ctx: { error: {} },
  };
  expect(await postJson(service, path, body(), key)).toMatchObject({ status: 422, body: { detail: [item] } });
  expect((await postJson(service, path, body(), long())).status).toBe(status);
});

test('S9: a malformed key has one fault, as before', async () => {
  const { body } = await postJson(service, '/api/v1/agent/v1/stamp/basic', { hash: randomHash() }, { 'idempotency-key': 'a b' });
  expect(body.detail).toMatchObject([{ type: 'string_pattern_mismatch', loc: ['header', 'idempotency-key'] }]);
});

test('S9: products and holders of a workflow token may use short keys', async () => {
  const [hash, key] = [randomHash(), short()];
  expect((await postJson(service, '/api/v1/internal/v1/stamp', { hash }, { ...internalHeaders, ...key })).status).toBe(201);
  expect((await postJson(service, '/api/v1/internal/v1/stamps', [{ hash }], { ...internalHeaders, ...short() })).status).toBe(200);
  expect((await stampOutput(service, await startWorkflow(service), {}, short())).status).toBe(201);
});

test('S9: the key of a product that starts a workflow is its own: a stranger behind its address gets no workflow token with it', async () => {
  const [request, key] = [startRequest(), long()];
  const started = await postJson(service, '/api/v1/workflow/start', request, { ...internalHeaders, ...key });
  const again = await postJson(service, '/api/v1/workflow/start', request, { ...internalHeaders, ...key });
  const stranger = await postJson(service, '/api/v1/workflow/start', request, key);
  expect([started.status, again.body]).toEqual([201, started.body]);
  expect(stranger.body.workflow_id).not.toBe(started.body.workflow_id);
  expect((await postJson(service, '/api/v1/workflow/start', startRequest(), { ...internalHeaders, ...short() })).status).toBe(201);
});

test('S9: a product may use short keys in MCP too, in `_meta` and in the header', async () => {
  const call = (name: string, given: unknown, meta: object, headers: Record<string, string> = {}) =>
    postMcp(service, rpc('tools/call', { name, arguments: given, _meta: meta }), { ...internalHeaders, ...headers });
  const done = { body: { result: { isError: false } } };
  expect(await call('workflow_start', startRequest(), { idempotency_key: short()['idempotency-key'] })).toMatchObject(done);
  expect(await call('stamp_file_hashes', { files: [{ sha256_hex: randomHash() }] }, {}, short())).toMatchObject(done);
});
