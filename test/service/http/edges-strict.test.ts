import { describe, expect, onTestFinished, test } from 'vitest';
import { postMcp, rpc } from '../../support/mcp.ts';
import { answerOn, openTo, postHead, type RawAnswer } from '../../support/raw-http.ts';
import { internalHeaders, randomHash } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const stampPath = '/api/v1/internal/v1/stamp';
const rawPath = '/api/v1/verify/v1/raw';
const workflow = '/api/v1/workflow/01938f2e-5a3c-7d41-9c0e-2f6b8a417e55';
const foreign = 'https://elsewhere.example';
const json = { 'content-type': 'application/json' };

const service = await sharedService();

async function open() {
  const socket = await openTo(service.url);
  onTestFinished(() => void socket.destroy());
  return (octets: string): Promise<RawAnswer> => {
    socket.write(octets);
    return answerOn(socket);
  };
}
const exchange = async (octets: string) => (await open())(octets);
const post = (path: string, headers: Record<string, string>, body: string) =>
  exchange(`${postHead(path, { 'content-length': body.length, ...headers })}${body}`);
const codeOf = ({ status, body }: RawAnswer) => [status, JSON.parse(body).code ?? JSON.parse(body).error?.code];
const isClosing = ({ head }: RawAnswer) => /connection: close/i.test(head);

test.each<[string, Record<string, string>, number, string | number]>([
  [stampPath, {}, 401, 'unauthorized'],
  [stampPath, { 'x-service-token': 'wrong' }, 401, 'unauthorized'],
  ['/api/v1/internal/v1/verify', { 'x-service-token': 'wrong' }, 401, 'unauthorized'],
  [`${workflow}/stamp`, {}, 401, 'unauthorized'],
  [`${workflow}/stamp`, { authorization: 'Workflow x' }, 404, 'not_found'],
  // This body is larger than tools without a token allow.
  ['/mcp', {}, 401, -32000],
])('E4, E5: at %s with %j, the answer does not wait for the body', async (path, headers, status, code) => {
  expect(codeOf(await exchange(postHead(path, { ...json, 'content-length': 100_000, ...headers })))).toEqual([status, code]);
});

test('E4: the connection stays usable once the body has arrived; malformed JSON that arrives with its head is 422 first', async () => {
  const send = await open();
  expect((await send(postHead(stampPath, { 'content-length': 5 }))).status).toBe(401);
  expect((await send(`12345${postHead(stampPath, { 'content-length': 1 })}{`)).status).toBe(422);
});

test('E8: only a body that is acceptable gets 100 Continue, also a form, and the connection is kept', async () => {
  const expecting = (path: string, length: number, type = json['content-type']) =>
    postHead(path, { 'content-type': type, expect: '100-continue', 'content-length': length });
  const large = await exchange(expecting(rawPath, 50_000_000));
  expect([large.status, isClosing(large), (await exchange(expecting(stampPath, 100))).status]).toEqual([413, true, 401]);
  const send = await open();
  const bodies = [
    [expecting(rawPath, 13), '{"token":"x"}'],
    [expecting('/verify', 7, 'application/x-www-form-urlencoded'), 'token=x'],
  ] as const;
  for (const [head, body] of bodies) {
    expect((await send(head)).status).toBe(100);
    const answer = await send(body);
    expect([answer.status, isClosing(answer)]).toEqual([200, false]);
  }
});

describe('E8: a body that is not declared as JSON', () => {
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = '{"token":"x"}';
  test.each<[string, Record<string, string>, string?]>([
    [rawPath, {}],
    ['/api/v1/agent/v1/stamp/sealed', {}],
    [stampPath, internalHeaders],
    ['/api/v1/internal/v1/verify', internalHeaders],
    ['/api/v1/workflow/start', {}],
    ['/api/v1/agent/v1/stamps', {}, 'list_type'],
  ])('is 422 at %s, and the message names the content type', async (path, headers, type = 'model_attributes_type') => {
    const answer = await post(path, { ...form, ...headers }, body);
    const item = { type, loc: ['body'], msg: expect.stringContaining('Send Content-Type: application/json'), input: body };
    expect([answer.status, JSON.parse(answer.body)]).toEqual([422, { detail: [item] }]);
  });

  test('is 401 without a token, 413 above the limit, and read by operations without a body', async () => {
    for (const path of [stampPath, '/api/v1/internal/v1/verify', '/api/v1/internal/v1/stamps', `${workflow}/stamp`, `${workflow}/stamps`])
      expect(codeOf(await post(path, form, body)), path).toEqual([401, 'unauthorized']);
    expect((await post('/api/v1/workflow/start', form, 'x'.repeat(70_000))).status).toBe(413);
    expect(codeOf(await post(`${workflow}/complete`, { ...form, authorization: 'Workflow x' }, body))).toEqual([404, 'not_found']);
  });
});

test('E4: X-Service-Token twice is one token if both have the same value', async () => {
  const { 'x-service-token': right } = internalHeaders;
  const tokens = async (...[first = '', ...others]: string[]) => {
    const lines = others.map((value) => `\r\nX-Service-Token: ${value}`).join('');
    return (await post(stampPath, { ...json, 'x-service-token': `${first}${lines}` }, JSON.stringify({ hash: randomHash() }))).status;
  };
  expect([await tokens(right, right), await tokens(right, right, right)]).toEqual([201, 201]);
  for (const other of ['wrong', 'other-service-token', ''])
    expect([await tokens(right, other), await tokens(other, right)], other).toEqual([401, 401]);
});

test('a request with two Host headers is 400 (RFC 9112 §3.2); with one, the start page still names our own address', async () => {
  for (const path of ['/health/live', '/nowhere'])
    expect(codeOf(await exchange(`GET ${path} HTTP/1.1\r\nHost: a.example\r\nhost: b.example\r\n\r\n`))).toEqual([400, 'bad_request']);
  const { status, body } = await exchange(`GET / HTTP/1.1\r\nHost: ${new URL(foreign).host}\r\n\r\n`);
  expect([status, body.includes(new URL(foreign).host), body.includes(service.url)]).toEqual([200, false, true]);
});

test('E8: QUERY is 405 with Allow', async () => {
  const query = (path: string) =>
    exchange(`QUERY ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`);
  const answer = await query(rawPath);
  expect([...codeOf(answer), /^allow: POST$/im.test(answer.head)]).toEqual([405, 'method_not_allowed', true]);
  expect((await query('/nowhere')).status).toBe(404);
});

const own = [service.url, service.url.replace('127.0.0.1', 'localhost')];
const others = [foreign, 'null', `http://elsewhere.example:${new URL(service.url).port}`];
test('E8: JSON without a content type is read, but not from a page of another origin (415)', async () => {
  const from = async (origin?: string) => (await post(rawPath, origin ? { origin } : {}, '{"token":"x"}')).status;
  expect(await from()).toBe(200);
  for (const origin of own) expect(await from(origin)).toBe(200);
  for (const origin of others) expect(await from(origin)).toBe(415);
});

test('M9: /mcp is open to our own origin and to those of the settings, whatever Host says', async () => {
  const from = (origin: Record<string, string>) => postMcp(service, rpc('ping'), origin);
  for (const origin of [own[0]!, 'https://assistant.example']) expect((await from({ origin })).status).toBe(200);
  const fault = { jsonrpc: '2.0', id: null, error: { code: -32600, data: { code: 'forbidden' } } };
  for (const origin of [...others, 'http://assistant.example']) expect(await from({ origin })).toMatchObject({ status: 403, body: fault });
  const rebound = { host: 'evil.example', origin: 'http://evil.example', 'content-length': 100 };
  expect((await exchange(postHead('/mcp', rebound))).status).toBe(403);
});

test('W6: HEAD of an unknown verify-user is 404, like GET', async () => {
  for (const method of ['HEAD', 'GET']) expect((await service.fetch(`${workflow}/verify-user?challenge=x`, { method })).status).toBe(404);
});

test('S3: content of the allowed size is accepted, even if every slash of its base64 is escaped', async () => {
  const escaped = Buffer.alloc(100_000, 0xff).toString('base64').replaceAll('/', '\\/');
  const send = (base64: string) => post('/api/v1/agent/v1/stamp/basic', json, `{"content_b64":"${base64}"}`);
  const answer = await send(escaped);
  expect([answer.status, answer.body]).toEqual([422, expect.stringContaining('only allowed in tier sealed')]);
  expect((await send(escaped.repeat(3))).status).toBe(413);
});
