import { describe, expect, test } from 'vitest';
import { faultOf, modernCall, modernRequest, postMcp, postModern, rpc, stampCall, streaming } from '../../support/mcp.ts';
import { getJson, internalHeaders, type JsonObject, randomHash, stampInternal } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const service = await sharedService();

const post = (body: unknown, headers?: Record<string, string>) => postMcp(service, body, headers);
const withoutId = ({ id: _, ...message }: JsonObject) => message;
const pong = { jsonrpc: '2.0', id: 1, result: {} };

test('Accept changes no answer, nor does a protocol version; null, [] and {} are no params', async () => {
  for (const accept of ['text/event-stream', 'text/html', 'application/json'])
    expect(await post(rpc('ping'), { accept, 'mcp-protocol-version': '1999-01-01' })).toMatchObject({ status: 200, body: pong });
  for (const params of [null, [], {}]) {
    expect((await post(rpc('ping', params))).body).toEqual(pong);
    expect(faultOf(await post(rpc('tools/call', params), internalHeaders))).toEqual({ status: 200, id: 1, code: -32602 });
  }
  // With an id, the name of a notification is a request.
  expect((await post(rpc('notifications/initialized'))).body).toEqual(pong);
});

describe('M7: a notification has no effect, and is 202 without a body if the client takes a stream, else 200 with {}', () => {
  const hash = randomHash();
  const call = withoutId(rpc('tools/call', { name: 'service_stamp_hash', arguments: { sha256_hex: hash } }));
  const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'notifications/cancelled' };
  test.each<[string, unknown, object?]>([
    ['one that is known', { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }],
    ['one that is not known', { jsonrpc: '2.0', method: 'whatever' }],
    ['a call without an id', call],
    ['a batch of them', [{ jsonrpc: '2.0', method: 'x' }, call]],
    ['one of the revision of 2026-07-28', withoutId(modernRequest('notifications/cancelled', { requestId: 1 })), modern],
  ])('%s', async (_what, message, headers) => {
    const send = (accept: string) => post(message, { ...internalHeaders, ...headers, accept });
    for (const accept of [streaming.accept, 'Text/Event-Stream;q=0.5', 'text/html,text/event-stream'])
      expect(await send(accept), accept).toMatchObject({ status: 202, text: '' });
    for (const accept of ['application/json', '*/*', 'text/*', 'text/event-streams', 'x-text/event-stream', ''])
      expect(await send(accept), accept).toMatchObject({ status: 200, text: '{}' });
    const { body: later } = await stampInternal(service, { hash: randomHash() });
    const listed = JSON.stringify((await getJson(service, '/api/v1/internal/v1/stamps?limit=10', internalHeaders)).body);
    expect([listed.includes(String(later.token_id)), listed.includes(hash)]).toEqual([true, false]);
  });

  test('a call without an id needs a token too, in both revisions', async () => {
    for (const headers of [streaming, {}, { 'x-service-token': 'wrong' }]) {
      const stranger = { status: 401, id: null, code: -32000 };
      expect(faultOf(await post(withoutId(stampCall()), headers))).toEqual(stranger);
      expect(faultOf(await postModern(service, withoutId(modernCall('verify_file_hash', {})), headers))).toEqual(stranger);
    }
  });
});

test.each(['GET', 'DELETE', 'PUT', 'OPTIONS'])('M7: %s is 405', async (method) => {
  const answer = await service.fetch('/mcp', { method, headers: { accept: 'text/event-stream' } });
  expect([answer.status, answer.headers.get('allow'), await answer.json()]).toMatchObject([405, 'POST', { code: 'method_not_allowed' }]);
});

describe('M7: batches are answered in order', () => {
  const batch = async (messages: unknown, headers?: Record<string, string>) => {
    const { status, body } = await post(messages, headers);
    const answers = body as { id: unknown; result?: { structuredContent?: JsonObject }; error?: { code: number } }[];
    return [status, ...answers.map(({ id, error, result }) => [id, error?.code ?? result?.structuredContent?.content_sha256])];
  };
  const hashed = (id: unknown) => {
    const call = stampCall(id);
    return { call, answer: [id, (call.params as { arguments: { sha256_hex: string } }).arguments.sha256_hex] };
  };

  test('each request gets its own answer, notifications get no answer', async () => {
    const stamps = ['a', 'b', 'c', 'd'].map(hashed);
    const [first, ...others] = stamps.map(({ call }) => call);
    const messages = [rpc('ping', undefined, 0), first, 1, { jsonrpc: '2.0', method: 'n' }, ...others, rpc('none', undefined, 9)];
    const [answer, ...later] = stamps.map((stamp) => stamp.answer);
    expect(await batch(messages, internalHeaders)).toEqual([200, [0, undefined], answer, [null, -32600], ...later, [9, -32601]]);
  });

  test('one of a single request gives an array; with a call but no token it is 401, and the other requests are answered', async () => {
    expect(await batch([rpc('ping')])).toEqual([200, [1, undefined]]);
    const calls = [rpc('ping'), stampCall(2), withoutId(stampCall())];
    expect(await batch(calls)).toEqual([401, [1, undefined], [2, -32000], [null, -32000]]);
  });

  test('100 requests get answers, 101 are refused as a whole', async () => {
    const pings = Array.from({ length: 101 }, (_, id) => rpc('ping', undefined, id));
    expect(await batch(pings.slice(1))).toEqual([200, ...pings.slice(1).map(({ id }) => [id, undefined])]);
    expect(faultOf(await post(pings))).toEqual({ status: 200, id: null, code: -32600 });
  });
});

test.each(['0', '-1', '1.5', '""', '"ü"', '"1"', 'null', '9007199254740991'])('M7: the id %s comes back', async (id) => {
  expect((await post(`{"jsonrpc":"2.0","method":"ping","id": ${id} }`)).text).toBe(`{"jsonrpc":"2.0","id":${id},"result":{}}`);
  expect((await post(`[{"jsonrpc":"2.0","id":${id},"method":"ping"},{"jsonrpc":"2.0","id":${id}}]`)).text).toMatch(
    new RegExp(`^\\[\\{"jsonrpc":"2.0","id":${RegExp.escape(id)},"result.*"id":${RegExp.escape(id)},"error`),
  );
  const modern = `{"jsonrpc":"2.0","id":${id},${JSON.stringify(withoutId(modernRequest('none'))).slice(1)}`;
  expect((await post(modern, { 'mcp-protocol-version': '2026-07-28' })).text).toContain(`"id":${id},"error"`);
});
