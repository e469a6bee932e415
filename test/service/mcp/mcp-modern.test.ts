import { describe, expect, test } from 'vitest';
import { modernCall, modernRequest, postMcp, postModern, rpc, streaming } from '../../support/mcp.ts';
import { internalHeaders, type JsonObject, randomHash } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const service = await sharedService();

const version = 'io.modelcontextprotocol/protocolVersion';
const capabilities = 'io.modelcontextprotocol/clientCapabilities';

describe('M11: a request that names 2026-07-28 is answered in it', () => {
  test('server/discover gives version, capabilities and our name, without a token', async () => {
    const { status, body } = await postModern(service, modernRequest('server/discover'));
    expect(status).toBe(200);
    expect(body).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        instructions: expect.stringContaining('SHA-256'),
        ttlMs: expect.any(Number),
        cacheScope: 'public',
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'qstamp', title: expect.any(String), version: expect.any(String) } },
      },
    });
  });

  test('tools/list is the same each time, may be cached, and has outputSchemas', async () => {
    const [first, again] = [await postModern(service, modernRequest('tools/list')), await postModern(service, modernRequest('tools/list'))];
    expect(again.text).toBe(first.text);
    const { tools, ttlMs, cacheScope } = (first.body as { result: JsonObject }).result as { tools: JsonObject[] } & JsonObject;
    expect({ ttlMs, cacheScope }).toEqual({ ttlMs: expect.any(Number), cacheScope: 'public' });
    expect(tools.every(({ outputSchema }) => (outputSchema as JsonObject).type === 'object')).toBe(true);
    expect(JSON.stringify(tools)).not.toContain('$ref');
  });

  test('a call gets a complete answer, with its data and links to the stamp', async () => {
    const hash = randomHash();
    const call = modernCall('stamp_file_hashes', { files: [{ name: 'a.txt', sha256_hex: hash }] });
    const { status, body } = await postModern(service, call, internalHeaders);
    expect(status).toBe(200);
    const { resultType, content, structuredContent, isError } = (body as { result: JsonObject }).result;
    expect({ resultType, isError }).toEqual({ resultType: 'complete', isError: false });
    const [{ token_id }] = (structuredContent as { files: [{ token_id: string }] }).files;
    expect(content).toEqual([
      { type: 'text', text: JSON.stringify(structuredContent) },
      { type: 'resource_link', uri: `${service.url}/api/v1/verify/v1/token/${token_id}`, name: expect.any(String), mimeType: 'text/html' },
    ]);
  });

  test('traceparent and unknown members change nothing; a notification is 202, or 200 with {}', async () => {
    const meta = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=b', more: 1 };
    expect((await postModern(service, modernRequest('server/discover', {}, meta))).status).toBe(200);
    const { id, ...notification } = modernRequest('notifications/cancelled', { requestId: 1 });
    expect(await postModern(service, notification, streaming)).toMatchObject({ status: 202, text: '' });
    expect(await postModern(service, notification)).toMatchObject({ status: 200, text: '{}' });
  });

  const faultOf = ({ status, body }: { status: number; body: unknown }) => {
    const { id, error } = body as { id: unknown; error: { code: number; data?: unknown } };
    return { status, id, code: error.code };
  };

  test.each([
    ['no _meta', { params: {} }, -32602],
    ['no params', { params: undefined }, -32602],
    ['no version', { params: { _meta: { [capabilities]: {} } } }, -32602],
    ['no capabilities', { params: { _meta: { [version]: '2026-07-28' } } }, -32602],
    ['capabilities that are a list', { params: { _meta: { [version]: '2026-07-28', [capabilities]: [] } } }, -32602],
    ['a version that is a number', { params: { _meta: { [version]: 2026, [capabilities]: {} } } }, -32602],
    ['no jsonrpc', { jsonrpc: undefined }, -32600],
  ])('%s is 400', async (_what, change, code) => {
    expect(faultOf(await postModern(service, { ...modernRequest('tools/list', {}, {}, 'x'), ...change }))).toEqual({
      status: 400,
      id: 'x',
      code,
    });
  });

  test('another version is 400 with −32022 and lists ours', async () => {
    const request = modernRequest('tools/list', {}, { [version]: '2099-01-01' }, 7);
    const answer = await postModern(service, request, { 'mcp-protocol-version': '2099-01-01' });
    expect(faultOf(answer)).toEqual({ status: 400, id: 7, code: -32022 });
    expect(answer.body).toMatchObject({ error: { data: { supported: ['2026-07-28'], requested: '2099-01-01' } } });
  });

  test.each([
    ['another version', { 'mcp-protocol-version': '2025-06-18' }],
    ['another method', { 'mcp-method': 'tools/list' }],
    ['another name', { 'mcp-name': 'verify_file_hash' }],
    ['a name in broken base64', { 'mcp-name': '=?base64?@@@?=' }],
    ['no version', { 'mcp-protocol-version': null }],
    ['no method', { 'mcp-method': null }],
    ['no name', { 'mcp-name': null }],
  ])('headers that say %s are 400 with −32020', async (_what, headers) => {
    const answer = await postModern(service, modernCall('workflow_status', { workflow_id: 'x' }), headers);
    expect(faultOf(answer)).toEqual({ status: 400, id: 1, code: -32020 });
  });

  test('white space around a header and a base64 name are accepted', async () => {
    const names = ['  verify_file_hash ', `=?base64?${Buffer.from('verify_file_hash').toString('base64')}?=`];
    for (const name of names) {
      const answer = await postModern(service, modernCall('verify_file_hash', { sha256_hex: randomHash(), token: 'AAAA' }), {
        ...internalHeaders,
        'mcp-name': name,
      });
      expect(answer).toMatchObject({ status: 200, body: { result: { isError: false } } });
    }
  });

  test.each(['initialize', 'ping', 'logging/setLevel', 'resources/list', 'none'])('the method %s is 404 with −32601', async (method) => {
    expect(faultOf(await postModern(service, modernRequest(method)))).toEqual({ status: 404, id: 1, code: -32601 });
  });

  test('a batch is 400; an unknown tool is −32602 at 200; a missing service token is 401', async () => {
    const batch = [rpc('ping'), modernRequest('tools/list')];
    expect(await postModern(service, batch as unknown as JsonObject)).toMatchObject({ status: 400, body: { error: { code: -32600 } } });
    expect(faultOf(await postModern(service, modernCall('no_such_tool', {}), internalHeaders))).toEqual({
      status: 200,
      id: 1,
      code: -32602,
    });
    const hash = { sha256_hex: randomHash() };
    expect(faultOf(await postModern(service, modernCall('service_stamp_hash', hash)))).toEqual({ status: 401, id: 1, code: -32000 });
    expect((await postModern(service, modernCall('service_stamp_hash', hash), internalHeaders)).status).toBe(200);
  });

  test('M1, M9: a client that starts with initialize uses the first revision, whatever its headers say; a foreign origin is 403', async () => {
    const params = { protocolVersion: '2026-07-28', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const { body } = await postMcp(service, rpc('initialize', params), { 'mcp-protocol-version': '2026-07-28' });
    expect(body).toMatchObject({ result: { protocolVersion: '2024-11-05', serverInfo: { version: '0.1.0' } } });
    const foreign = await postModern(service, modernRequest('server/discover'), { origin: 'http://evil.example' });
    expect(foreign.status).toBe(403);
  });
});

describe('M10: the header Idempotency-Key', () => {
  const call = (hash: string, meta?: JsonObject) =>
    rpc('tools/call', { name: 'service_stamp_hash', arguments: { sha256_hex: hash }, ...(meta && { _meta: meta }) });
  const post = (message: unknown, key: string) => postMcp(service, message, { ...internalHeaders, 'idempotency-key': key });

  test('works like _meta.idempotency_key; both may be given, but must not differ', async () => {
    const [key, hash] = [`key-${randomHash()}`, randomHash()];
    const first = await post(call(hash), key);
    const again = await postMcp(service, call(hash, { idempotency_key: key }), internalHeaders);
    expect(again.text).toBe(first.text);
    expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    expect((await post(call(hash, { idempotency_key: key }), key)).text).toBe(first.text);
    expect(await post(call(hash, { idempotency_key: 'other' }), key)).toMatchObject({ status: 200, body: { error: { code: -32602 } } });
    expect(await post(call(hash), 'x'.repeat(300))).toMatchObject({ body: { error: { code: -32602 } } });
    const modern = await postModern(service, modernCall('service_stamp_hash', { sha256_hex: hash }), {
      ...internalHeaders,
      'idempotency-key': key,
    });
    expect(modern.headers.get('idempotent-replayed')).toBe('true');
  });

  test('covers a batch, whose calls get their own keys under it', async () => {
    const key = `key-${randomHash()}`;
    const batch = [call(randomHash()), call(randomHash())];
    const first = await post(batch, key);
    const again = await post(batch, key);
    expect(JSON.stringify(first.body)).not.toContain('"isError":true');
    expect(again.text).toBe(first.text);
  });
});
