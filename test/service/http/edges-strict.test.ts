import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { postMcp, rpc, streaming } from '../../support/mcp.ts';
import { answerOn, postHead, type RawAnswer, sendExactly } from '../../support/raw-http.ts';
import { getJson, internalHeaders, postJson, randomHash, stampInternal } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const stampPath = '/api/v1/internal/v1/stamp';
const rawPath = '/api/v1/verify/v1/raw';
const unknownId = '01938f2e-5a3c-7d41-9c0e-2f6b8a417e55';
const foreign = 'https://elsewhere.example';

const service = await sharedService();

/** Runs `talk` on its own socket. */
async function withSocket<T>(talk: (socket: Socket) => Promise<T>): Promise<T> {
  const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
  try {
    await once(socket, 'connect');
    return await talk(socket);
  } finally {
    socket.destroy();
  }
}

const exchange = (octets: string): Promise<RawAnswer> =>
  withSocket((socket) => {
    socket.write(octets);
    return answerOn(socket);
  });

const codeOf = ({ status, body }: RawAnswer) => [status, (JSON.parse(body) as { code: string }).code];

describe('a wrong or absent token is answered before its body is read (E4, E5)', () => {
  const announced = { 'content-type': 'application/json', 'content-length': 100_000 };
  test.each([
    ['absent service token', stampPath, {}],
    ['wrong service token', stampPath, { 'x-service-token': 'wrong' }],
    ['wrong service token, verification', '/api/v1/internal/v1/verify', { 'x-service-token': 'wrong' }],
    ['absent workflow token', `/api/v1/workflow/${unknownId}/stamp`, {}],
  ])('%s', async (_name, path, headers) => {
    expect(codeOf(await exchange(postHead(path, { ...announced, ...headers })))).toEqual([401, 'unauthorized']);
  });

  test('an unknown workflow', async () => {
    const head = postHead(`/api/v1/workflow/${unknownId}/stamp`, { ...announced, authorization: 'Workflow x' });
    expect(codeOf(await exchange(head))).toEqual([404, 'not_found']);
  });

  test('at /mcp too, if the body is larger than tools without a token allow', async () => {
    const { status, body } = await exchange(postHead('/mcp', announced));
    expect([status, JSON.parse(body)]).toEqual([
      401,
      expect.objectContaining({ id: null, error: expect.objectContaining({ code: -32000 }) }),
    ]);
  });

  test('malformed JSON that arrives with its head is 422 first', async () => {
    expect((await exchange(`${postHead(stampPath, { 'content-length': 1 })}{`)).status).toBe(422);
  });

  test('the connection stays usable once the body has arrived', async () => {
    await withSocket(async (socket) => {
      socket.write(postHead(stampPath, { 'content-length': 5 }));
      expect((await answerOn(socket)).status).toBe(401);
      socket.write('12345GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n');
      expect((await answerOn(socket)).status).toBe(200);
    });
  });
});

describe('Expect: 100-continue (E8)', () => {
  const expecting = { 'content-type': 'application/json', expect: '100-continue' };
  test('a body that is too large is 413 without 100 Continue, and the connection is closed', async () => {
    const { status, head } = await exchange(postHead(rawPath, { ...expecting, 'content-length': 50_000_000 }));
    expect(status).toBe(413);
    expect(head).toMatch(/connection: close/i);
  });

  test('a wrong token is 401 without 100 Continue', async () => {
    expect((await exchange(postHead(stampPath, { ...expecting, 'content-length': 100 }))).status).toBe(401);
  });

  test('a form gets 100 Continue too', async () => {
    await withSocket(async (socket) => {
      const form = { ...expecting, 'content-type': 'application/x-www-form-urlencoded' };
      socket.write(postHead('/verify', { ...form, 'content-length': 7 }));
      expect((await answerOn(socket)).status).toBe(100);
      socket.write('token=x');
      expect((await answerOn(socket)).status).toBe(200);
    });
  });

  test('an acceptable body gets 100 Continue, and the connection is kept', async () => {
    await withSocket(async (socket) => {
      for (let round = 0; round < 2; round += 1) {
        socket.write(postHead(rawPath, { ...expecting, 'content-length': 13 }));
        expect((await answerOn(socket)).status).toBe(100);
        socket.write('{"token":"x"}');
        const { status, head } = await answerOn(socket);
        expect([status, /connection: close/i.test(head)]).toEqual([200, false]);
      }
    });
  });
});

describe('a body that is not declared as JSON (E8)', () => {
  const form = (path: string, headers: Record<string, string> = {}, body = '{"token":"x"}') =>
    exchange(
      `${postHead(path, { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length, ...headers })}${body}`,
    ).then(({ status, body: answered }) => ({ status, ...(JSON.parse(answered) as object) }));
  const workflow = `/api/v1/workflow/${unknownId}`;

  test.each<[string, string, Record<string, string>, string]>([
    ['raw verification', rawPath, {}, 'model_attributes_type'],
    ['stamping of an agent', '/api/v1/agent/v1/stamp/sealed', {}, 'model_attributes_type'],
    ['stamping of a product', stampPath, internalHeaders, 'model_attributes_type'],
    ['verification for a product', '/api/v1/internal/v1/verify', internalHeaders, 'model_attributes_type'],
    ['the start of a workflow', '/api/v1/workflow/start', {}, 'model_attributes_type'],
    ['many stamps', '/api/v1/agent/v1/stamps', {}, 'list_type'],
  ])('is 422 for %s, and the message names the content type', async (_what, path, headers, type) => {
    const item = { type, loc: ['body'], msg: expect.stringContaining('Send Content-Type: application/json'), input: '{"token":"x"}' };
    expect(await form(path, headers)).toEqual({ status: 422, detail: [item] });
  });

  test.each([stampPath, '/api/v1/internal/v1/verify', '/api/v1/internal/v1/stamps', `${workflow}/stamp`, `${workflow}/stamps`])(
    'is 401 at %s without a token',
    async (path) => {
      expect(await form(path)).toMatchObject({ status: 401, code: 'unauthorized' });
    },
  );

  test('is 413 above the limit, and read by operations without a body', async () => {
    expect(await form('/api/v1/workflow/start', {}, 'x'.repeat(70_000))).toMatchObject({ status: 413 });
    expect(await form(`${workflow}/complete`, { authorization: 'Workflow x' })).toMatchObject({ status: 404, code: 'not_found' });
  });
});

test('E4: X-Service-Token twice is one token if both have the same value', async () => {
  const tokens = (...values: string[]) => {
    const body = JSON.stringify({ hash: randomHash() });
    const head = postHead(stampPath, { 'content-type': 'application/json', 'content-length': body.length });
    const lines = values.map((value) => `X-Service-Token: ${value}\r\n`).join('');
    return exchange(`${head.replace(/\r\n$/, '')}${lines}\r\n${body}`).then(({ status }) => status);
  };
  const { 'x-service-token': token } = internalHeaders;
  expect(await tokens(token, token)).toBe(201);
  expect(await tokens(token, token, token)).toBe(201);
  for (const other of ['wrong', 'other-service-token', '']) {
    expect(await tokens(token, other)).toBe(401);
    expect(await tokens(other, token)).toBe(401);
  }
});

describe('E1: numbers in the input of a 422 are the digits of the client', () => {
  const numbers = ['12345678901234567890', '1.0', '-0', '1e400', '-1E-7', '0.10', '7'];
  const post = async (path: string, body: string, type = 'application/json') => {
    const { text } = await sendExactly(service, 'POST', path, { headers: { ...internalHeaders, 'content-type': type }, payload: body });
    return text;
  };

  test.each(numbers)('%s', async (number) => {
    expect(await post(stampPath, `{"hash": ${number}}`)).toContain(
      `"loc":["body","hash"],"msg":"Input should be a valid string","input":${number}}`,
    );
    expect(await post(stampPath, ` ${number} `)).toContain(`fields from","input":${number}}`);
    expect(await post(stampPath, `{"metadata":{"a":[${number},"é"]}}`)).toContain(`"input":[${number},"é"]`);
    expect(await post('/api/v1/internal/v1/stamps', `[${number},{"hash":${number}}]`)).toMatch(
      new RegExp(`"input":${number.replace('.', '\\.')}\\}.*"input":${number.replace('.', '\\.')}\\}`),
    );
    expect(await post('/api/v1/internal/v1/stamps', `{"hash":${number}}\n${number}`, 'application/x-ndjson')).toMatch(
      new RegExp(`"input":${number.replace('.', '\\.')}\\}(.|\n)*"input":${number.replace('.', '\\.')}\\}`),
    );
    expect(
      await post('/api/v1/workflow/start', `{"tier":${number},"agent_id":"${'x'.repeat(2_000)}\\"","user_email":"a@example.com"}`),
    ).toContain(`"input":${number}`);
  });

  test('a number that is too long to repeat is cut, as a text', async () => {
    expect(await post(rawPath, `{"token":${'1'.repeat(2_000)}}`)).toContain(`"input":"${'1'.repeat(1_024)}"}`);
  });
});

describe('refusals of a strict server', () => {
  test('two Host headers are 400 (RFC 9112 §3.2)', async () => {
    for (const path of ['/health/live', '/nowhere'])
      expect(codeOf(await exchange(`GET ${path} HTTP/1.1\r\nHost: a.example\r\nhost: b.example\r\n\r\n`))).toEqual([400, 'bad_request']);
  });

  test.each(['', 'content-type: application/json\r\ncontent-length: 2\r\n\r\n{}'])(
    'QUERY is 405 with Allow, body %j (E8)',
    async (rest) => {
      const answer = await exchange(`QUERY ${rawPath} HTTP/1.1\r\nhost: x\r\n${rest === '' ? '\r\n' : rest}`);
      expect(codeOf(answer)).toEqual([405, 'method_not_allowed']);
      expect(answer.head).toMatch(/^allow: POST$/im);
      expect((await exchange(`QUERY /nowhere HTTP/1.1\r\nhost: x\r\n${rest === '' ? '\r\n' : rest}`)).status).toBe(404);
    },
  );

  test('the start page names our own address, whatever Host says', async () => {
    const { status, body } = await exchange('GET / HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n');
    expect(status).toBe(200);
    expect(body).not.toContain('elsewhere.example');
    expect(body).toContain(service.url);
  });

  test('JSON without a content type is read, but not from a page of another origin (415)', async () => {
    const post = (origin: Record<string, string>) =>
      exchange(`${postHead(rawPath, { ...origin, 'content-length': 13 })}{"token":"x"}`).then(({ status }) => status);
    expect(await post({})).toBe(200);
    for (const origin of [foreign, 'null', `http://elsewhere.example:${new URL(service.url).port}`])
      expect(await post({ origin })).toBe(415);
    for (const origin of [service.url, service.url.replace('127.0.0.1', 'localhost')]) expect(await post({ origin })).toBe(200);
  });
});

describe('M9: Origin on /mcp', () => {
  test.each([
    [foreign, 403],
    ['null', 403],
    ['http://assistant.example', 403],
    ['https://assistant.example', 200],
  ])('%s is %i', async (origin, status) => {
    const answer = await postMcp(service, rpc('ping'), { origin });
    expect(answer.status).toBe(status);
    if (status === 403)
      expect(answer.body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32600, data: { code: 'forbidden' } } });
  });

  test('our own origin or no Origin is allowed; Host does not matter (DNS rebinding)', async () => {
    expect((await postMcp(service, rpc('ping'), { origin: service.url })).status).toBe(200);
    expect((await postMcp(service, rpc('ping'))).status).toBe(200);
    const rebound = postHead('/mcp', { host: 'evil.example', origin: 'http://evil.example', 'content-length': 100 });
    expect((await exchange(rebound)).status).toBe(403);
  });
});

test('M7: tools/call without an id is a notification without effect', async () => {
  const hash = randomHash();
  const { id: _, ...call } = rpc('tools/call', { name: 'service_stamp_hash', arguments: { sha256_hex: hash } });
  expect(await postMcp(service, call, { ...internalHeaders, ...streaming })).toMatchObject({ status: 202, text: '' });
  const { body: later } = await stampInternal(service, { hash: randomHash() });
  const { body } = await getJson(service, '/api/v1/internal/v1/stamps?limit=10', internalHeaders);
  expect(JSON.stringify(body)).toContain(later.token_id);
  expect(JSON.stringify(body)).not.toContain(hash);
});

test('W6: HEAD of an unknown verify-user is 404, like GET', async () => {
  const ask = (method: string) => service.fetch(`/api/v1/workflow/${unknownId}/verify-user?challenge=x`, { method });
  const [head, get] = await Promise.all(['HEAD', 'GET'].map(ask));
  expect([head?.status, get?.status]).toEqual([404, 404]);
});

test('S3: content of the allowed size is accepted, even if every slash of its base64 is escaped', async () => {
  const escaped = Buffer.alloc(100_000, 0xff).toString('base64').replaceAll('/', '\\/');
  const send = (payload: string) =>
    service.fetch('/api/v1/agent/v1/stamp/basic', { method: 'POST', headers: { 'content-type': 'application/json' }, body: payload });
  const answer = await send(`{"content_b64":"${escaped}"}`);
  expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining('only allowed in tier sealed')]);
  expect((await send(`{"content_b64":"${escaped.repeat(3)}"}`)).status).toBe(413);
});

test('S4, W15: metadata nested to 64 levels is checked by its own rule; deeper nesting is malformed', async () => {
  const nested = (levels: number) => Array.from({ length: levels }).reduce<unknown>((inner) => ({ a: inner }), 'x');
  const { body } = await postJson(service, '/api/v1/agent/v1/stamp/basic', { hash: randomHash(), metadata: { k: nested(64) } });
  expect(body.detail).toEqual([expect.objectContaining({ type: 'string_type', loc: ['body', 'metadata', 'k'] })]);
  const deep = await postJson(service, '/api/v1/agent/v1/stamp/basic', { hash: randomHash(), metadata: { k: nested(65) } });
  expect(deep.body.detail).toEqual([expect.objectContaining({ type: 'json_invalid' })]);
});
