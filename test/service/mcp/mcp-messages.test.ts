import { describe, expect, test } from 'vitest';
import { faultOf, modernCall, modernRequest, postMcp, postModern, rpc, stampCall, streaming } from '../../support/mcp.ts';
import { internalHeaders, type JsonObject } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const service = await sharedService();

const post = (body: unknown, headers?: Record<string, string>) => postMcp(service, body, headers);

describe('media types', () => {
  test('E8: a body that is not declared as JSON is −32700, and the message names the content type', async () => {
    for (const type of ['text/plain', 'json', '/json', 'x y z', 'application/json, text/plain', '']) {
      const answer = await post(rpc('ping'), { 'content-type': type });
      expect(faultOf(answer), type).toEqual({ status: 200, id: null, code: -32700 });
      expect(answer.text).toContain('Send Content-Type: application/json.');
    }
  });

  test.each(['text/event-stream', 'text/html', 'application/json'])(
    'Accept: %s changes nothing, nor does a protocol version',
    async (accept) => {
      const { status, body } = await post(rpc('ping'), { accept, 'mcp-protocol-version': '1999-01-01' });
      expect([status, body]).toEqual([200, { jsonrpc: '2.0', id: 1, result: {} }]);
    },
  );
});

const withoutId = ({ id: _, ...message }: JsonObject) => message;

describe('M7: notifications get 202 without a body if the client takes a stream, else 200 with {}', () => {
  test.each([
    ['one that is known', { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['with params', { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }],
    ['one that is not known', { jsonrpc: '2.0', method: 'whatever' }],
    ['a call without an id, which does nothing', withoutId(stampCall())],
    [
      'a batch of them',
      [
        { jsonrpc: '2.0', method: 'notifications/initialized' },
        { jsonrpc: '2.0', method: 'x' },
      ],
    ],
  ])('%s', async (_what, message) => {
    for (const accept of [streaming.accept, 'Text/Event-Stream;q=0.5', 'text/html,text/event-stream']) {
      const { status, headers, text } = await post(message, { ...internalHeaders, accept });
      expect([status, text, headers.get('content-length')]).toEqual([202, '', '0']);
    }
    for (const accept of ['application/json', '*/*', 'text/*', 'text/event-streams', 'x-text/event-stream', '']) {
      const { status, headers, text } = await post(message, { ...internalHeaders, accept });
      expect([accept, status, text, headers.get('content-type')]).toEqual([accept, 200, '{}', 'application/json; charset=utf-8']);
    }
  });

  test('a call without an id needs a token too: in both revisions, and in a batch', async () => {
    const unauthorized = { status: 401, id: null, code: -32000 };
    for (const headers of [streaming, {}, { 'x-service-token': 'wrong' }]) {
      expect(faultOf(await post(withoutId(stampCall()), headers))).toEqual(unauthorized);
      expect(faultOf(await postModern(service, withoutId(modernCall('verify_file_hash', {})), headers))).toEqual(unauthorized);
    }
    const { status, body } = await post([rpc('ping'), withoutId(stampCall())]);
    expect([status, body]).toEqual([401, [expect.objectContaining({ result: {} }), expect.objectContaining({ id: null })]]);
  });

  test('a notification name with an id is a request', async () => {
    expect((await post(rpc('notifications/initialized'))).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  });
});

describe('M7: GET, DELETE and others are 405', () => {
  test.each(['GET', 'DELETE', 'PUT', 'OPTIONS'])('%s', async (method) => {
    const answer = await service.fetch('/mcp', { method, headers: { accept: 'text/event-stream' } });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await answer.json()).toMatchObject({ code: 'method_not_allowed' });
  });
});

describe('M7: batches are answered in order', () => {
  const batch = async (messages: unknown, headers?: Record<string, string>) => {
    const { status, body } = await post(messages, headers);
    return { status, answers: body as { id: unknown; result?: { structuredContent?: unknown }; error?: { code: number } }[] };
  };

  test('each request gets its own answer, notifications get no answer', async () => {
    const calls = Array.from({ length: 5 }, (_, index) => stampCall(`call-${index}`));
    const messages = [
      rpc('ping', undefined, 0),
      calls[0],
      1,
      { jsonrpc: '2.0', method: 'n' },
      ...calls.slice(1),
      rpc('none', undefined, 9),
    ];
    const { status, answers } = await batch(messages, internalHeaders);
    expect(status).toBe(200);
    expect(answers.map(({ id }) => id)).toEqual([0, 'call-0', null, 'call-1', 'call-2', 'call-3', 'call-4', 9]);
    expect(answers.map(({ error }) => error?.code)).toEqual([undefined, undefined, -32600, ...Array(4).fill(undefined), -32601]);
    const stamped = answers.map(({ result }) => (result?.structuredContent as { content_sha256?: string } | undefined)?.content_sha256);
    const wanted = calls.map(({ params }) => (params as { arguments: { sha256_hex: string } }).arguments.sha256_hex);
    expect(stamped.filter((hash) => hash !== undefined)).toEqual(wanted);
  });

  test('a batch of a single request gives an array of one answer', async () => {
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

  test('a batch of 100 gets answers, a batch of 101 is refused as a whole', async () => {
    const pings = (count: number) => Array.from({ length: count }, (_, id) => rpc('ping', undefined, id));
    expect((await batch(pings(100))).answers.map(({ id }) => id)).toEqual(pings(100).map(({ id }) => id));
    expect(faultOf(await post(pings(101)))).toEqual({ status: 200, id: null, code: -32600 });
  });
});

test.each(['0', '-1', '1.5', '""', '"ü"', '"1"', 'null', '9007199254740993', '12345678901234567890', '1.0', '-0', '1e2', '1E+400'])(
  'M7: the id %s comes back with its characters',
  async (id) => {
    expect((await post(`{"jsonrpc":"2.0","method":"ping","id": ${id} }`)).text).toBe(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
    expect((await post(`[{"jsonrpc":"2.0","id":${id},"method":"ping"},{"jsonrpc":"2.0","id":${id}}]`)).text).toMatch(
      new RegExp(`^\\[\\{"jsonrpc":"2.0","id":${RegExp.escape(id)},"result.*"id":${RegExp.escape(id)},"error`),
    );
    const modern = `{"jsonrpc":"2.0","id":${id},${JSON.stringify(withoutId(modernRequest('none'))).slice(1)}`;
    expect((await post(modern, { 'mcp-protocol-version': '2026-07-28' })).text).toContain(`"id":${id},"error"`);
  },
);

test.each(['null', '[]', '{}'])('M7: the params %s mean none', async (params) => {
  expect((await post(`{"jsonrpc":"2.0","id":1,"method":"ping","params":${params}}`)).body).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
  expect(faultOf(await post(call, internalHeaders))).toEqual({ status: 200, id: 1, code: -32602 });
  expect(faultOf(await post(call))).toEqual({ status: 401, id: 1, code: -32000 });
});
