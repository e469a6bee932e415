import { expect, test } from 'vitest';
import { faultOf, modernCall, modernRequest, postMcp, postModern, rpc, type ToolResult } from '../../support/mcp.ts';
import { internalHeaders, type JsonObject, randomHash } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const service = await sharedService();

const version = 'io.modelcontextprotocol/protocolVersion';
const capabilities = 'io.modelcontextprotocol/clientCapabilities';
const statusCall = modernCall('workflow_status', { workflow_id: 'x' });
const discover = modernRequest('server/discover');
const inBase64 = (text: string) => Buffer.from(text).toString('base64');

test('M11: server/discover gives version, capabilities and our name, without a token, whatever else is in _meta', async () => {
  const serverInfo = { name: 'qstamp', title: expect.any(String), version: expect.any(String) };
  const result = {
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
    instructions: expect.stringContaining('SHA-256'),
    ttlMs: expect.any(Number),
    cacheScope: 'public',
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
  };
  const traced = modernRequest('server/discover', {}, { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', more: 1 });
  for (const request of [discover, traced])
    expect(await postModern(service, request)).toMatchObject({ status: 200, body: { jsonrpc: '2.0', id: 1, result } });
});

test('M11: tools/list is the same each time, may be cached, and has outputSchemas without references', async () => {
  const [first, again] = [await postModern(service, modernRequest('tools/list')), await postModern(service, modernRequest('tools/list'))];
  expect(again.text).toBe(first.text);
  const { tools, ...cached } = (first.body as { result: { tools: JsonObject[] } }).result;
  expect(cached).toMatchObject({ ttlMs: expect.any(Number), cacheScope: 'public' });
  for (const { outputSchema } of tools) expect(outputSchema).toMatchObject({ type: 'object' });
  expect(JSON.stringify(tools)).not.toContain('$ref');
});

test('M11: a call gets a complete answer, with its data and links to the stamp', async () => {
  const call = modernCall('stamp_file_hashes', { files: [{ name: 'a.txt', sha256_hex: randomHash() }] });
  const { status, body } = await postModern(service, call, internalHeaders);
  const { structuredContent, ...result } = (body as { result: ToolResult }).result;
  const [{ token_id }] = structuredContent.files as [{ token_id: string }];
  const uri = `${service.url}/api/v1/verify/v1/token/${token_id}`;
  const content = [
    { type: 'text', text: JSON.stringify(structuredContent) },
    { type: 'resource_link', uri, name: expect.any(String), mimeType: 'text/html' },
  ];
  expect([status, result]).toMatchObject([200, { resultType: 'complete', isError: false, content }]);
});

const list = modernRequest('tools/list');
test.each<[string, unknown, number, number, object?]>([
  ['no _meta', { ...list, params: {} }, 400, -32602],
  ['no params', { ...list, params: undefined }, 400, -32602],
  ['no version', { ...list, params: { _meta: { [capabilities]: {} } } }, 400, -32602],
  ['no capabilities', { ...list, params: { _meta: { [version]: '2026-07-28' } } }, 400, -32602],
  ['capabilities that are a list', { ...list, params: { _meta: { [version]: '2026-07-28', [capabilities]: [] } } }, 400, -32602],
  ['a version that is a number', { ...list, params: { _meta: { [version]: 2026, [capabilities]: {} } } }, 400, -32602],
  ['no jsonrpc', { ...list, jsonrpc: undefined }, 400, -32600],
  ['headers with another version', statusCall, 400, -32020, { 'mcp-protocol-version': '2025-06-18' }],
  ['headers with another method', statusCall, 400, -32020, { 'mcp-method': 'tools/list' }],
  ['headers with another name', statusCall, 400, -32020, { 'mcp-name': 'verify_file_hash' }],
  ['headers with a name in broken base64', statusCall, 400, -32020, { 'mcp-name': `=?base64?${inBase64('workflow_status')}@?=` }],
  ['headers without a version', statusCall, 400, -32020, { 'mcp-protocol-version': null }],
  ['headers without a method', statusCall, 400, -32020, { 'mcp-method': null }],
  ['headers without a name', statusCall, 400, -32020, { 'mcp-name': null }],
  ['the method initialize', modernRequest('initialize'), 404, -32601],
  ['the method ping', modernRequest('ping'), 404, -32601],
  ['the method none', modernRequest('none'), 404, -32601],
  ['an unknown tool', modernCall('no_such_tool', {}), 200, -32602],
])('M11: %s', async (_what, message, status, code, headers) => {
  const answer = await postModern(service, message as JsonObject, { ...internalHeaders, ...headers });
  expect(faultOf(answer)).toEqual({ status, id: 1, code });
});

test('M11: a batch is 400, and so is another version, with the list of ours', async () => {
  const batch = [rpc('ping'), list] as unknown as JsonObject;
  expect(faultOf(await postModern(service, batch))).toEqual({ status: 400, id: null, code: -32600 });
  const later = modernRequest('tools/list', {}, { [version]: '2099-01-01' });
  const answer = await postModern(service, later, { 'mcp-protocol-version': '2099-01-01' });
  const error = { code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } };
  expect(answer).toMatchObject({ status: 400, body: { id: 1, error } });
});

test.each(['  verify_file_hash ', `=?base64?${inBase64('verify_file_hash')}?=`])('M11: the header Mcp-Name may be %j', async (name) => {
  const call = modernCall('verify_file_hash', { sha256_hex: randomHash(), token: 'AAAA' });
  const answer = await postModern(service, call, { ...internalHeaders, 'mcp-name': name });
  expect(answer).toMatchObject({ status: 200, body: { result: { isError: false } } });
});

test('M1, M9: a client that starts with initialize uses the first revision, whatever its headers say; a foreign origin is 403', async () => {
  const params = { protocolVersion: '2026-07-28', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const { body } = await postMcp(service, rpc('initialize', params), { 'mcp-protocol-version': '2026-07-28' });
  expect(body).toMatchObject({ result: { protocolVersion: '2024-11-05', serverInfo: { version: '0.1.0' } } });
  expect((await postModern(service, discover, { origin: 'http://evil.example' })).status).toBe(403);
});

test('M10, S9: the header Idempotency-Key works like _meta.idempotency_key; both may be given, but must not differ', async () => {
  const [key, hash] = [`key-${randomHash()}`, randomHash()];
  const call = (meta?: object) => rpc('tools/call', { name: 'service_stamp_hash', arguments: { sha256_hex: hash }, ...meta });
  const [inMeta, inHeader] = [{ _meta: { idempotency_key: key } }, { ...internalHeaders, 'idempotency-key': key }];
  const { text, headers } = await postMcp(service, call(), inHeader);
  expect(headers.get('idempotent-replayed')).toBeNull();
  for (const sent of [internalHeaders, inHeader]) {
    const again = await postMcp(service, call(inMeta), sent);
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([text, 'true']);
  }
  const modern = await postModern(service, modernCall('service_stamp_hash', { sha256_hex: hash }), inHeader);
  expect(modern.headers.get('idempotent-replayed')).toBe('true');
  const fault = { status: 200, body: { error: { code: -32602 } } };
  expect(await postMcp(service, call({ _meta: { idempotency_key: 'other' } }), inHeader)).toMatchObject(fault);
  expect(await postMcp(service, call(), { ...inHeader, 'idempotency-key': 'x'.repeat(300) })).toMatchObject(fault);
});

test('M10: the header covers a batch, whose calls get their own keys under it', async () => {
  const headers = { ...internalHeaders, 'idempotency-key': `key-${randomHash()}` };
  const batch = [randomHash(), randomHash()].map((sha256_hex) =>
    rpc('tools/call', { name: 'service_stamp_hash', arguments: { sha256_hex } }),
  );
  const first = await postMcp(service, batch, headers);
  expect(first.text).not.toContain('"isError":true');
  expect((await postMcp(service, batch, headers)).text).toBe(first.text);
});
