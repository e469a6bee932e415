import { connect } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { statusOf } from '../../../src/api/server/error-status.ts';
import { type ErrorCode, ServiceError } from '../../../src/shared/domain/service-error.ts';
import { buildMemoryApp } from '../../support/memory-app.ts';
import { createMemoryStore } from '../../support/memory-store.ts';
import { answerOn, listen } from '../../support/raw-http.ts';

const id = '0190d9f0-0000-7000-8000-000000000000';
const codes = Object.keys(statusOf) as ErrorCode[];

/** A store that fails as the test says; the real services and the real app turn it into an answer. */
let failure: Error;
const memory = createMemoryStore();
const find = async () => {
  throw failure;
};
const store = { ...memory, stamps: { ...memory.stamps, find } };

const logged: string[] = [];
const app = await buildMemoryApp({ store, log: logged });
const failWith = (error: Error) => {
  failure = error;
  return app.inject(`/api/v1/verify/v1/token/${id}`);
};

const { port } = await listen(app);
afterAll(() => app.close());

test.each(codes)('E3: the answer to %s has detail, code and request_id', async (code) => {
  const answer = await failWith(
    new ServiceError(code, `A sentence about ${code}.`, {
      members: { token_id: id, detail: 'replaced', code: 'replaced' },
      credential: 'workflow_token',
      cause: new Error('mongodb://user:secret@10.0.0.1 refused'),
    }),
  );
  expect(answer.statusCode).toBe(statusOf[code]);
  expect(answer.json()).toEqual({
    detail: `A sentence about ${code}.`,
    code,
    request_id: expect.any(String),
    token_id: id,
  });
  expect(answer.headers['www-authenticate']).toBe('Workflow');
  expect(answer.headers['retry-after'] !== undefined).toBe([429, 503, 504].includes(answer.statusCode));
  expect(answer.body).not.toContain('secret');
});

test('E10, E11: Retry-After is in whole seconds and never too short', async () => {
  const answer = await failWith(new ServiceError('stamp_pending', 'Accepted, but not stamped yet.', { retryAfterSeconds: 2.2 }));
  expect(answer.headers['retry-after']).toBe('3');
});

test.each([
  ['unexpected', new TypeError('cannot read mongodb://user:secret@10.0.0.1')],
  ['foreign', Object.assign(new Error('secret'), { statusCode: 404 })],
])('E3: an %s error is 500 without a reason; the reason is in the log', async (_name, error) => {
  logged.length = 0;
  const answer = await failWith(error);
  expect(answer.statusCode).toBe(500);
  expect(answer.json()).toEqual({
    detail: 'Something went wrong on our side.',
    code: 'internal_error',
    request_id: expect.any(String),
  });
  expect(logged.join()).toContain('secret');
  expect(JSON.parse(logged.at(-1) ?? '{}')).toMatchObject({ level: 'error', outcome: 'failed', code: 'internal_error', status: 500 });
  expect(logged.join()).toContain(answer.json().request_id);
});

test('E8: an unknown path is 404, whatever its body', async () => {
  for (const [method, url] of [
    ['GET', '/nope'],
    ['POST', '/api/v1/nope'],
    ['GET', '/api/v1/verify/v1/token/'],
    ['GET', '//health'],
  ] as const) {
    const answer = await app.inject({ method, url, ...(method === 'POST' && { payload: '{bad' }) });
    expect([url, answer.statusCode, answer.json().code]).toEqual([url, 404, 'not_found']);
  }
});

test.each([
  ['GET', '/api/v1/verify/v1/raw', 'POST'],
  ['DELETE', '/api/v1/agent/v1/stamp/basic', 'POST'],
  ['PATCH', `/api/v1/workflow/${id}/stamp`, 'POST'],
  ['GET', '/api/v1/workflow/start', 'POST'],
  ['DELETE', '/api/v1/workflow/start', 'POST'],
  ['POST', '/health/', 'GET, HEAD'],
  ['OPTIONS', '/health/', 'GET, HEAD'],
  ['PROPFIND', '/health/', 'GET, HEAD'],
  ['PUT', '/%68ealth/', 'GET, HEAD'],
  ['POST', `/api/v1/verify/v1/token/${id}?x=1`, 'GET, HEAD'],
] as const)('E8: %s %s is 405 with Allow: %s', async (method, url, allow) => {
  const answer = await app.inject({ method: method as 'GET', url });
  expect([answer.statusCode, answer.headers.allow, answer.json().code]).toEqual([405, allow, 'method_not_allowed']);
});

test('E8: HEAD is allowed wherever GET is', async () => {
  expect((await app.inject({ method: 'HEAD', url: '/health/' })).statusCode).toBe(200);
});

test.each([
  ['GET', '/health', '/health/'],
  ['GET', '/health?a=1&b=%2F', '/health/?a=1&b=%2F'],
  ['POST', '/api/v1/verify/v1/raw/', '/api/v1/verify/v1/raw'],
  ['GET', `/api/v1/verify/v1/token/${id}/?q`, `/api/v1/verify/v1/token/${id}?q`],
] as const)('%s %s redirects to %s with 307, like redirect_slashes', async (method, url, location) => {
  const answer = await app.inject({ method, url });
  expect([answer.statusCode, answer.headers.location]).toEqual([307, location]);
});

test.each(['%ZZ', '%', 'a%ff', '%E2%82', '%41%zz'])('E1: the undecodable parameter %s is 422 and not 400', async (segment) => {
  const answer = await app.inject(`/api/v1/verify/v1/token/${segment}`);
  expect(answer.statusCode).toBe(422);
  expect(answer.json().detail).toMatchObject([{ type: 'uuid_parsing', loc: ['path', 'token_id'] }]);
});

test('E1: a parameter of thousands of characters is 422 and not 404', async () => {
  const answer = await app.inject(`/api/v1/verify/v1/token/${'a'.repeat(10_000)}`);
  expect([answer.statusCode, answer.json().detail[0].input.length]).toEqual([422, 1024]);
});

test('E1: all parts of a request are reported together: path, header, body', async () => {
  const workflow = await app.inject({ method: 'POST', url: '/api/v1/workflow/x/stamp', payload: {} });
  expect(workflow.json().detail.map(({ loc }: { loc: string[] }) => loc.join('.'))).toEqual([
    'path.workflow_id',
    'body.output_hash',
    'body.output_type',
  ]);
  const headers = { 'x-payment-transaction': 'x'.repeat(257) };
  const agent = await app.inject({ method: 'POST', url: '/api/v1/agent/v1/stamp/basic', headers, payload: {} });
  expect(agent.json().detail.map(({ loc }: { loc: string[] }) => loc.join('.'))).toEqual(['header.x-payment-transaction', 'body']);
});

test.each([
  ['x'.repeat(256), 201],
  [' !~', 201],
  ['x'.repeat(257), 422],
  ['é', 422],
  ['a\tb', 422],
])('S10: x-payment-transaction %j is %i', async (claim, status) => {
  const headers = { 'x-payment-transaction': claim };
  const answer = await app.inject({ method: 'POST', url: '/api/v1/agent/v1/stamp/basic', headers, payload: { hash: 'a'.repeat(64) } });
  expect(answer.statusCode).toBe(status);
  if (status === 422) expect(answer.json().detail[0].loc).toEqual(['header', 'x-payment-transaction']);
});

test.each([
  ['a request that is none', 'rubbish\r\n\r\n', 400],
  ['headers without end', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`, 431],
  ['two lengths', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 400],
])('E3: %s gets an error in the usual shape', async (_name, text, status) => {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  socket.write(text);
  const answer = await answerOn(socket);
  expect(answer.status).toBe(status);
  expect(JSON.parse(answer.body)).toEqual({ detail: expect.any(String), code: 'bad_request', request_id: expect.any(String) });
  socket.destroy();
});

test('answers: JSON is not cached unless its route says so; headers forbid sniffing, framing and referrers', async () => {
  const health = await app.inject('/health/');
  expect(health.headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  });
  expect(health.headers).not.toHaveProperty('x-powered-by');
  expect((await app.inject('/nope')).headers['cache-control']).toBe('no-store');
  expect((await app.inject('/api/v1/agent/pricing')).headers['cache-control']).toBe('public, max-age=300');
});

test('pages: a strict Content-Security-Policy', async () => {
  const { headers } = await app.inject('/');
  expect(headers['content-security-policy']).toBe(
    "default-src 'none';style-src 'self';script-src 'self';img-src 'self' data:;connect-src 'self';form-action 'self';" +
      "base-uri 'none';frame-ancestors 'none'",
  );
});
