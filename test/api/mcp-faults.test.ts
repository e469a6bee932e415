import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rpc } from '../support/mcp.ts';
import { answerOn, postHead, type RawAnswer } from '../support/raw-http.ts';
import { randomHash } from '../support/requests.ts';
import { type Service, serviceToken, startService } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ keep: true, settings: { SEALED_MAX_BYTES: '3000' } });
});
afterAll(() => service.stop());

const jsonType = { 'content-type': 'application/json' };
const withToken = { ...jsonType, 'x-service-token': serviceToken };

/** These octets on a socket of their own, and the answer to them. */
async function exchange(request: string | Buffer): Promise<RawAnswer> {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write(request);
    return await answerOn(socket);
  } finally {
    socket.destroy();
  }
}

function post(body: unknown, headers: Record<string, string> = jsonType): Promise<RawAnswer> {
  const octets = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return exchange(Buffer.concat([Buffer.from(postHead('/mcp', { ...headers, 'content-length': octets.length })), octets]));
}

const faultOf = ({ status, body }: RawAnswer): unknown => {
  const { jsonrpc, id, error } = JSON.parse(body) as { jsonrpc: string; id: unknown; error: { code: number; message: string } };
  expect(jsonrpc).toBe('2.0');
  expect(error.message).toMatch(/^\S.{3,}/);
  return { status, id, code: error.code };
};

const stampCall = (id: unknown = 1) => rpc('tools/call', { name: 'service_stamp_hash', arguments: { sha256_hex: randomHash() } }, id);

describe('M7: −32700 for what is not JSON, at HTTP 200, whoever asks', () => {
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
    expect(faultOf(await post(body, withToken))).toEqual({ status: 200, id: null, code: -32700 });
  });

  test('octets that are no UTF-8', async () => {
    expect(faultOf(await post(Buffer.from('7b22c3282200', 'hex')))).toMatchObject({ status: 200, code: -32700 });
  });

  test('a request without a body and without a content type', async () => {
    expect(faultOf(await exchange(postHead('/mcp', {})))).toEqual({ status: 200, id: null, code: -32700 });
  });

  test('a malformed body in chunks, on a connection that goes on to serve', async () => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(`${postHead('/mcp', { ...jsonType, 'transfer-encoding': 'chunked' })}2\r\n{"\r\n0\r\n\r\n`);
    expect(faultOf(await answerOn(socket))).toEqual({ status: 200, id: null, code: -32700 });
    const ping = JSON.stringify(rpc('ping'));
    socket.write(postHead('/mcp', { ...jsonType, 'content-length': ping.length }) + ping);
    expect(JSON.parse((await answerOn(socket)).body)).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
    socket.destroy();
  });
});

describe('M7: −32600 for what is no request', () => {
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
    ['{"jsonrpc":"2.0","id":1e999,"method":"ping"}', null],
    ['{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', null],
    ['{"jsonrpc":"2.0","id":1,"method":null}', 1],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 1],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":null}', 1],
  ])('%s', async (body, id) => {
    expect(faultOf(await post(body))).toEqual({ status: 200, id, code: -32600 });
  });
});

describe('M7: −32601 for a method that is not known', () => {
  test.each(['resources/list', 'prompts/list', '', 'Ping', 'constructor', '__proto__', 'toString'])('%j', async (method) => {
    expect(faultOf(await post(rpc(method, undefined, 'x')))).toEqual({ status: 200, id: 'x', code: -32601 });
  });

  test('a long name is not repeated at length', async () => {
    expect((await post(rpc('m'.repeat(60_000)))).body.length).toBeLessThan(500);
  });
});

describe('M6: −32602 for params that no method takes', () => {
  test.each([
    ['an unknown tool', { name: 'service_delete_everything', arguments: {} }],
    ['a tool named as a member of objects', { name: 'constructor', arguments: {} }],
    ['no name', { arguments: {} }],
    ['a name that is no text', { name: 7 }],
    ['params by position', ['service_stamp_hash', {}]],
    ['an idempotency key that is no text', { name: 'service_stamp_hash', arguments: {}, _meta: { idempotency_key: 7 } }],
    ['an empty idempotency key', { name: 'service_stamp_hash', arguments: {}, _meta: { idempotency_key: '' } }],
  ])('%s', async (_what, params) => {
    expect(faultOf(await post(rpc('tools/call', params), withToken))).toEqual({ status: 200, id: 1, code: -32602 });
  });

  test('no params', async () => {
    expect(faultOf(await post(rpc('tools/call'), withToken))).toEqual({ status: 200, id: 1, code: -32602 });
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
    const answer = await post(stampCall('call'), { ...jsonType, ...headers });
    expect(faultOf(answer)).toEqual(unauthorized);
    expect(answer.head).not.toMatch(/www-authenticate/i);
    expect(answer.head).toMatch(/content-type: application\/json/i);
  });

  test('whatever is wrong with the call besides', async () => {
    expect(faultOf(await post(rpc('tools/call', { name: 'unknown' }, 'call')))).toEqual(unauthorized);
    expect(faultOf(await post(rpc('tools/call', undefined, 'call')))).toEqual(unauthorized);
  });

  test.each(['oauth-protected-resource', 'oauth-protected-resource/mcp', 'oauth-authorization-server', 'openid-configuration'])(
    'a client that looks for /.well-known/%s gets 404 and JSON',
    async (name) => {
      const { status, head, body } = await exchange(`GET /.well-known/${name} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
      expect(status).toBe(404);
      expect(head).toMatch(/content-type: application\/json/i);
      expect(JSON.parse(body)).toMatchObject({ code: 'not_found' });
    },
  );
});

describe('M7: bodies above the limit of sealed stamping are 413', () => {
  const limit = 2 * 4000 + 64 * 1024;
  const padded = (length: number) => `${' '.repeat(length - 40)}${JSON.stringify(rpc('ping')).padEnd(40)}`;

  test('of the limit just 200, of one more 413 with a JSON-RPC error', async () => {
    expect((await post(padded(limit), withToken)).status).toBe(200);
    expect(faultOf(await post(padded(limit + 1), withToken))).toEqual({ status: 413, id: null, code: -32600 });
  });

  test('in chunks too', async () => {
    const chunk = `${(limit + 1).toString(16)}\r\n${padded(limit + 1)}\r\n0\r\n\r\n`;
    const answer = await exchange(postHead('/mcp', { ...jsonType, 'transfer-encoding': 'chunked' }) + chunk);
    expect(faultOf(answer)).toEqual({ status: 413, id: null, code: -32600 });
  });
});

describe('media types', () => {
  test('E8: a body that is not declared as JSON is 415, as a JSON-RPC error', async () => {
    for (const type of ['text/plain', 'json', '/json', 'x y z', 'application/json, text/plain', '']) {
      expect(faultOf(await post(rpc('ping'), { 'content-type': type })), type).toEqual({ status: 415, id: null, code: -32600 });
    }
  });

  test.each(['text/event-stream', 'text/html', 'application/json'])(
    'Accept: %s changes nothing, nor does a protocol version',
    async (accept) => {
      const { status, body } = await post(rpc('ping'), { ...jsonType, accept, 'mcp-protocol-version': '1999-01-01' });
      expect([status, JSON.parse(body)]).toEqual([200, { jsonrpc: '2.0', id: 1, result: {} }]);
    },
  );
});

describe('M7: notifications are answered 202 without a body', () => {
  test.each([
    ['one that is known', { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['with params', { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }],
    ['one that is not known', { jsonrpc: '2.0', method: 'whatever' }],
    ['a call without an id, which does nothing', { ...stampCall(), id: undefined }],
    [
      'a batch of them',
      [
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        { jsonrpc: '2.0', method: 'x' },
      ],
    ],
  ])('%s', async (_what, message) => {
    const { status, head, body } = await post(message);
    expect([status, body]).toEqual([202, '']);
    expect(head).toMatch(/content-length: 0/i);
  });

  test('a request with the name of a notification is a request', async () => {
    expect(JSON.parse((await post(rpc('notifications/initialized'))).body)).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });
});

describe('M7: GET, DELETE and others are 405', () => {
  test.each(['GET', 'DELETE', 'PUT', 'OPTIONS'])('%s', async (method) => {
    const { status, head, body } = await exchange(`${method} /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n`);
    expect(status).toBe(405);
    expect(head).toMatch(/^allow: POST\r?$/im);
    expect(JSON.parse(body)).toMatchObject({ code: 'method_not_allowed' });
  });
});

describe('M7: batches are answered in order', () => {
  const batch = async (messages: unknown, headers: Record<string, string> = jsonType) => {
    const { status, body } = await post(messages, headers);
    return { status, answers: JSON.parse(body) as { id: unknown; result?: { structuredContent?: unknown }; error?: { code: number } }[] };
  };

  test('each request by its own answer, notifications by none', async () => {
    const calls = Array.from({ length: 5 }, (_, index) => stampCall(`call-${index}`));
    const messages = [
      rpc('ping', undefined, 0),
      calls[0],
      1,
      { jsonrpc: '2.0', method: 'n' },
      ...calls.slice(1),
      rpc('none', undefined, 9),
    ];
    const { status, answers } = await batch(messages, withToken);
    expect(status).toBe(200);
    expect(answers.map(({ id }) => id)).toEqual([0, 'call-0', null, 'call-1', 'call-2', 'call-3', 'call-4', 9]);
    expect(answers.map(({ error }) => error?.code)).toEqual([undefined, undefined, -32600, ...Array(4).fill(undefined), -32601]);
    const stamped = answers.map(({ result }) => (result?.structuredContent as { content_sha256?: string } | undefined)?.content_sha256);
    const wanted = calls.map(({ params }) => (params as { arguments: { sha256_hex: string } }).arguments.sha256_hex);
    expect(stamped.filter((hash) => hash !== undefined)).toEqual(wanted);
  });

  test('one of a single request is an array of one answer', async () => {
    expect(await batch([rpc('ping')])).toEqual({ status: 200, answers: [{ jsonrpc: '2.0', id: 1, result: {} }] });
  });

  test('with a call but no token it is 401, and the other requests are answered', async () => {
    const { status, answers } = await batch([rpc('ping', undefined, 1), stampCall(2)]);
    expect(status).toBe(401);
    expect(answers.map(({ id, error }) => [id, error?.code])).toEqual([
      [1, undefined],
      [2, -32000],
    ]);
  });

  test('of 100 is answered, of 101 refused as a whole', async () => {
    const pings = (count: number) => Array.from({ length: count }, (_, id) => rpc('ping', undefined, id));
    expect((await batch(pings(100))).answers.map(({ id }) => id)).toEqual(pings(100).map(({ id }) => id));
    expect(faultOf(await post(pings(101)))).toEqual({ status: 200, id: null, code: -32600 });
  });
});

test.each([0, -1, 1.5, '', 'ü', '1', null, 9007199254740991])('the id %j comes back as it was', async (id) => {
  expect(JSON.parse((await post(rpc('ping', undefined, id))).body)).toEqual({ jsonrpc: '2.0', id, result: {} });
});
