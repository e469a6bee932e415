import { describe, expect, test } from 'vitest';
import { faultOf, mcpResult, modernCall, postMcp, postModern, rpc, stampCall } from '../../support/mcp.ts';
import { answerOn, openTo, postHead } from '../../support/raw-http.ts';
import { internalHeaders } from '../../support/requests.ts';
import { serviceToken, sharedService } from '../../support/service.ts';

const service = await sharedService();

const post = (body: unknown, headers?: Record<string, string>) => postMcp(service, body, headers);

describe('M7: −32700 for input that is not JSON, at HTTP 200, for every caller', () => {
  test.each([
    '{',
    '',
    ' ',
    '{"jsonrpc":"2.0","id":1,"method":"ping",}',
    '[1,2',
    'NaN',
    "{'a':1}",
    '{"a":1} x',
    `${'['.repeat(80)}${']'.repeat(80)}`,
  ])('the body %j', async (body) => {
    expect(faultOf(await post(body))).toEqual({ status: 200, id: null, code: -32700 });
    expect(faultOf(await post(body, internalHeaders))).toEqual({ status: 200, id: null, code: -32700 });
  });

  test('octets that are not UTF-8', async () => {
    expect(faultOf(await post(Buffer.from('7b22c3282200', 'hex')))).toMatchObject({ status: 200, code: -32700 });
  });

  test('no body and no content type; in chunks; the connection stays usable', async () => {
    const socket = await openTo(service.url);
    const faultOfHead = async (head: string) => {
      socket.write(head);
      const { status, body } = await answerOn(socket);
      return faultOf({ status, body: JSON.parse(body) });
    };
    const fault = { status: 200, id: null, code: -32700 };
    const chunked = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    expect(await faultOfHead(postHead('/mcp', {}))).toEqual(fault);
    expect(await faultOfHead(`${postHead('/mcp', chunked)}2\r\n{"\r\n0\r\n\r\n`)).toEqual(fault);
    const ping = JSON.stringify(rpc('ping'));
    socket.write(postHead('/mcp', { 'content-type': 'application/json', 'content-length': ping.length }) + ping);
    expect(JSON.parse((await answerOn(socket)).body)).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    socket.destroy();
  });
});

describe('M7: −32600 for input that is not a request', () => {
  test.each([
    ['null', null],
    ['42', null],
    ['"ping"', null],
    ['true', null],
    ['[]', null],
    ['{}', null],
    ['{"foo":"boo"}', null],
    ['{"jsonrpc":"2.0","method":1,"params":"bar"}', null],
    ['{"jsonrpc":"2.0","id":7}', 7],
    ['{"jsonrpc":"1.0","id":"a","method":"ping"}', 'a'],
    ['{"jsonrpc":2,"id":1,"method":"ping"}', 1],
    ['{"id":1,"method":"ping"}', 1],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', null],
    ['{"jsonrpc":"2.0","id":true,"method":"ping"}', null],
    ['{"jsonrpc":"2.0","id":1,"method":null}', 1],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 1],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":1.0}', 1],
  ])('%s', async (body, id) => {
    expect(faultOf(await post(body))).toEqual({ status: 200, id, code: -32600 });
  });
});

describe('M7: −32601 for an unknown method', () => {
  test.each(['resources/list', 'prompts/list', '', 'Ping', 'constructor', '__proto__', 'toString'])('%j', async (method) => {
    expect(faultOf(await post(rpc(method, undefined, 'x')))).toEqual({ status: 200, id: 'x', code: -32601 });
  });

  test('a long name is shortened in the answer', async () => {
    expect((await post(rpc('m'.repeat(60_000)))).text.length).toBeLessThan(500);
  });
});

describe('M6: −32602 for params that no method accepts', () => {
  test.each([
    ['an unknown tool', { name: 'service_delete_everything', arguments: {} }],
    ['a tool named as a member of objects', { name: 'constructor', arguments: {} }],
    ['no name', { arguments: {} }],
    ['a name that is no text', { name: 7 }],
    ['params by position', ['service_stamp_hash', {}]],
    ['an idempotency key that is no text', { name: 'service_stamp_hash', arguments: {}, _meta: { idempotency_key: 7 } }],
    ['an empty idempotency key', { name: 'service_stamp_hash', arguments: {}, _meta: { idempotency_key: '' } }],
  ])('%s', async (_what, params) => {
    expect(faultOf(await post(rpc('tools/call', params), internalHeaders))).toEqual({ status: 200, id: 1, code: -32602 });
  });

  test('no params', async () => {
    expect(faultOf(await post(rpc('tools/call'), internalHeaders))).toEqual({ status: 200, id: 1, code: -32602 });
  });
});

describe('M7: 401 and −32000 for tools/call without a valid token', () => {
  const unauthorized = { status: 401, id: 'call', code: -32000 };

  test.each([
    ['none', {}],
    ['an empty one', { 'x-service-token': '' }],
    ['a wrong one', { 'x-service-token': 'nobody' }],
    ['one with a word more', { 'x-service-token': `${serviceToken} x` }],
    ['one in another header', { authorization: `Bearer ${serviceToken}` }],
  ])('%s', async (_what, headers) => {
    const answer = await post(stampCall('call'), headers);
    expect(faultOf(answer)).toEqual(unauthorized);
    expect(answer.headers.has('www-authenticate')).toBe(false);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  });

  test('M14: for every tool, in both revisions', async () => {
    const { tools } = (await mcpResult(service, rpc('tools/list'))) as { tools: { name: string }[] };
    expect(tools.length).toBe(10);
    for (const { name } of tools) {
      for (const headers of [{}, { 'x-service-token': 'nobody' }]) {
        expect(faultOf(await post(rpc('tools/call', { name, arguments: {} }, 'call'), headers)), name).toEqual(unauthorized);
        expect(faultOf(await postModern(service, modernCall(name, {}), headers)), name).toEqual({ ...unauthorized, id: 1 });
      }
    }
  });

  test('whatever else is wrong with the call', async () => {
    expect(faultOf(await post(rpc('tools/call', { name: 'unknown' }, 'call')))).toEqual(unauthorized);
    expect(faultOf(await post(rpc('tools/call', undefined, 'call')))).toEqual(unauthorized);
  });

  test.each(['oauth-protected-resource', 'oauth-protected-resource/mcp', 'oauth-authorization-server', 'openid-configuration'])(
    'a client that looks for /.well-known/%s gets 404 and JSON',
    async (name) => {
      const answer = await service.fetch(`/.well-known/${name}`);
      expect(answer.status).toBe(404);
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
      expect(await answer.json()).toMatchObject({ code: 'not_found' });
    },
  );
});

describe('M7: bodies above the limit of sealed stamping are 413', () => {
  const limit = 2 * 133_336 + 64 * 1024;
  const padded = (length: number) => `${' '.repeat(length - 40)}${JSON.stringify(rpc('ping')).padEnd(40)}`;

  test('at the limit 200, one byte more 413 with a JSON-RPC error', async () => {
    expect((await post(padded(limit), internalHeaders)).status).toBe(200);
    expect(faultOf(await post(padded(limit + 1), internalHeaders))).toEqual({ status: 413, id: null, code: -32600 });
  });

  test('in chunks too', async () => {
    const chunk = `${(limit + 1).toString(16)}\r\n${padded(limit + 1)}\r\n0\r\n\r\n`;
    const socket = await openTo(service.url);
    socket.write(postHead('/mcp', { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }) + chunk);
    const { status, body } = await answerOn(socket);
    expect(faultOf({ status, body: JSON.parse(body) })).toEqual({ status: 413, id: null, code: -32600 });
    socket.destroy();
  });
});
