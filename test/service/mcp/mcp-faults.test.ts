import { describe, expect, test } from 'vitest';
import { faultOf, mcpResult, modernCall, postMcp, postModern, rpc, stampCall } from '../../support/mcp.ts';
import { answerOn, openTo, postHead } from '../../support/raw-http.ts';
import { internalHeaders } from '../../support/requests.ts';
import { serviceToken, sharedService } from '../../support/service.ts';

const service = await sharedService();

const post = (body: unknown, headers?: Record<string, string>) => postMcp(service, body, headers);
const json = { 'content-type': 'application/json' };

const noJson = ['{', '', ' ', '{"jsonrpc":"2.0","id":1,"method":"ping",}', '[1,2', 'NaN', "{'a':1}", '{"a":1} x'];
const noRequests = ['null', '42', '"ping"', 'true', '[]', '{}', '{"foo":"boo"}', '{"jsonrpc":"2.0","method":1,"params":"bar"}'];
const noMethods = ['resources/list', '', 'Ping', 'constructor', '__proto__', 'toString', 'm'.repeat(60_000)];
test.each<[number, unknown, (string | number | null)?]>([
  ...[...noJson, `${'['.repeat(80)}${']'.repeat(80)}`, Buffer.from('7b22c3282200', 'hex')].map((body): [number, unknown] => [-32700, body]),
  ...noRequests.map((body): [number, unknown] => [-32600, body]),
  [-32600, '{"jsonrpc":"2.0","id":7}', 7],
  [-32600, '{"jsonrpc":"1.0","id":"a","method":"ping"}', 'a'],
  [-32600, '{"jsonrpc":2,"id":1,"method":"ping"}', 1],
  [-32600, '{"id":1,"method":"ping"}', 1],
  [-32600, '{"jsonrpc":"2.0","id":{},"method":"ping"}'],
  [-32600, '{"jsonrpc":"2.0","id":true,"method":"ping"}'],
  [-32600, '{"jsonrpc":"2.0","id":1,"method":null}', 1],
  [-32600, '{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 1],
  [-32600, '{"jsonrpc":"2.0","id":1,"method":"ping","params":1.0}', 1],
  ...noMethods.map((method): [number, unknown, string] => [-32601, rpc(method, undefined, 'x'), 'x']),
])('M7: %i at HTTP 200, for every caller, in a short answer (row %#)', async (code, body, id = null) => {
  for (const headers of [{}, internalHeaders]) {
    const answer = await post(body, headers);
    expect(faultOf(answer)).toEqual({ status: 200, id, code });
    expect(answer.text.length).toBeLessThan(500);
  }
});

test.each(['text/plain', 'json', '/json', 'x y z', 'application/json, text/plain', ''])(
  'E8: a body of type %j is −32700, and the message names the content type',
  async (type) => {
    const answer = await post(rpc('ping'), { 'content-type': type });
    expect(faultOf(answer)).toEqual({ status: 200, id: null, code: -32700 });
    expect(answer.text).toContain('Send Content-Type: application/json.');
  },
);

test('M7: no body, and bodies in chunks, also above the limit; the connection stays usable', async () => {
  const socket = await openTo(service.url);
  const ask = async (octets: string) => {
    socket.write(octets);
    const { status, body } = await answerOn(socket);
    return { status, body: JSON.parse(body) };
  };
  const chunked = (body: string) =>
    `${postHead('/mcp', { ...json, 'transfer-encoding': 'chunked' })}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const fault = { status: 200, id: null, code: -32700 };
  expect(faultOf(await ask(postHead('/mcp', {})))).toEqual(fault);
  expect(faultOf(await ask(chunked('{"')))).toEqual(fault);
  expect(await ask(chunked(JSON.stringify(rpc('ping'))))).toEqual({ status: 200, body: { jsonrpc: '2.0', id: 1, result: {} } });
  expect(faultOf(await ask(chunked(' '.repeat(limit + 1))))).toEqual({ status: 413, id: null, code: -32600 });
  socket.destroy();
});

/** The limit of sealed stamping. */
const limit = 2 * 133_336 + 64 * 1024;
test('M7: a body at the limit is 200, one byte more is 413 with a JSON-RPC error', async () => {
  const ping = JSON.stringify(rpc('ping')).padEnd(limit);
  expect((await post(ping, internalHeaders)).status).toBe(200);
  expect(faultOf(await post(`${ping} `, internalHeaders))).toEqual({ status: 413, id: null, code: -32600 });
});

test.each<[string, unknown]>([
  ['an unknown tool', { name: 'service_delete_everything', arguments: {} }],
  ['a tool named as a member of objects', { name: 'constructor', arguments: {} }],
  ['no name', { arguments: {} }],
  ['a name that is no text', { name: 7 }],
  ['an idempotency key that is no text', { name: 'service_stamp_hash', arguments: {}, _meta: { idempotency_key: 7 } }],
  ['an empty idempotency key', { name: 'service_stamp_hash', arguments: {}, _meta: { idempotency_key: '' } }],
  ['no params', undefined],
  ...['basic', 'plus', 'gold', '', 'SEALED', 7, {}].map((tier): [string, unknown] => [
    `content with the tier ${JSON.stringify(tier)} (M3)`,
    { name: 'service_stamp_content', arguments: { content_b64: 'AAAA', tier } },
  ]),
])('M6: %s is −32602, and 401 with −32000 without a token', async (_what, params) => {
  expect(faultOf(await post(rpc('tools/call', params), internalHeaders))).toEqual({ status: 200, id: 1, code: -32602 });
  expect(faultOf(await post(rpc('tools/call', params)))).toEqual({ status: 401, id: 1, code: -32000 });
});

test('M6: params by position are −32602', async () => {
  expect(faultOf(await post(rpc('tools/call', ['service_stamp_hash', {}]), internalHeaders))).toEqual({ status: 200, id: 1, code: -32602 });
});

describe('M7: 401 and −32000 for tools/call without a valid token', () => {
  const unauthorized = { status: 401, id: 1, code: -32000 };

  test.each<object>([
    ...['', 'nobody', `${serviceToken} x`].map((token) => ({ 'x-service-token': token })),
    { authorization: `Bearer ${serviceToken}` },
  ])('%j', async (headers) => {
    const answer = await post(stampCall(), headers as Record<string, string>);
    expect(faultOf(answer)).toEqual(unauthorized);
    expect([answer.headers.get('www-authenticate'), answer.headers.get('content-type')]).toEqual([null, expect.stringMatching(/json/)]);
  });

  test('M14: for every tool, in both revisions', async () => {
    const { tools } = (await mcpResult(service, rpc('tools/list'))) as { tools: { name: string }[] };
    expect(tools.length).toBe(10);
    for (const { name } of tools) {
      expect(faultOf(await post(rpc('tools/call', { name, arguments: {} }))), name).toEqual(unauthorized);
      expect(faultOf(await postModern(service, modernCall(name, {}))), name).toEqual(unauthorized);
    }
  });

  test.each(['oauth-protected-resource', 'oauth-protected-resource/mcp', 'oauth-authorization-server', 'openid-configuration'])(
    'a client that looks for /.well-known/%s gets 404 and JSON',
    async (name) => {
      const answer = await service.fetch(`/.well-known/${name}`);
      expect([answer.status, await answer.json()]).toMatchObject([404, { code: 'not_found' }]);
    },
  );
});
