import { describe, expect, test } from 'vitest';
import { faultOf, postMcp, rpc, stampCall } from '../../support/mcp.ts';
import { internalHeaders } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const service = await sharedService();

const post = (body: unknown, headers?: Record<string, string>) => postMcp(service, body, headers);

describe('media types', () => {
  test('E8: a body that is not declared as JSON is 415, as a JSON-RPC error', async () => {
    for (const type of ['text/plain', 'json', '/json', 'x y z', 'application/json, text/plain', '']) {
      expect(faultOf(await post(rpc('ping'), { 'content-type': type })), type).toEqual({ status: 415, id: null, code: -32600 });
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

describe('M7: notifications get 202 without a body', () => {
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
    const { status, headers, text } = await post(message);
    expect([status, text, headers.get('content-length')]).toEqual([202, '', '0']);
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

test.each([0, -1, 1.5, '', 'ü', '1', null, 9007199254740991])('the id %j comes back unchanged', async (id) => {
  expect((await post(rpc('ping', undefined, id))).body).toEqual({ jsonrpc: '2.0', id, result: {} });
});
