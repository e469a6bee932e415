import { type FastifyBaseLogger, fastify } from 'fastify';
import { expect, test } from 'vitest';
import { statusOf } from '../../../src/api/server/error-status.ts';
import { registerErrorHandler } from '../../../src/api/server/errors.ts';
import { registerRequestLog } from '../../../src/api/server/request-log.ts';
import { createEdgeServerOptions } from '../../../src/api/server/server-options.ts';
import { type ErrorCode, ServiceError } from '../../../src/shared/domain/service-error.ts';
import { createLogger } from '../../../src/shared/runtime/log.ts';
import { answerOn, openTo, sendExactly } from '../../support/raw-http.ts';
import { sharedService } from '../../support/service.ts';

const id = '0190d9f0-0000-7000-8000-000000000000';
const codes = Object.keys(statusOf) as ErrorCode[];

/** A route that fails as the test says, with the log and the errors of the API. */
let failure: Error;
const logged: string[] = [];
const log: FastifyBaseLogger = createLogger({ level: 'warn', process: 'api', destination: { write: (line) => void logged.push(line) } });
const app = fastify({ loggerInstance: log, ...createEdgeServerOptions() });
registerRequestLog(app);
registerErrorHandler(app);
app.get('/', () => Promise.reject(failure));
const failWith = (error: Error) => {
  failure = error;
  return app.inject('/');
};

const service = await sharedService();
const send = async (method: string, path: string, payload?: string, headers: Record<string, string> = {}) => {
  const { text, ...answer } = await sendExactly(service, method, path, { payload, headers });
  return { ...answer, text, body: text.startsWith('{') ? JSON.parse(text) : undefined };
};

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
    const answer = await send(method, url, method === 'POST' ? '{bad' : undefined);
    expect([url, answer.status, answer.body.code]).toEqual([url, 404, 'not_found']);
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
  const answer = await send(method, url);
  expect([answer.status, answer.headers.allow, answer.body.code]).toEqual([405, allow, 'method_not_allowed']);
});

test('E8: HEAD is allowed wherever GET is', async () => {
  expect((await send('HEAD', '/health/')).status).toBe(200);
});

test.each([
  ['GET', '/health', '/health/'],
  ['GET', '/health?a=1&b=%2F', '/health/?a=1&b=%2F'],
  ['POST', '/api/v1/verify/v1/raw/', '/api/v1/verify/v1/raw'],
  ['GET', `/api/v1/verify/v1/token/${id}/?q`, `/api/v1/verify/v1/token/${id}?q`],
] as const)('%s %s redirects to %s with 307, like redirect_slashes', async (method, url, location) => {
  const answer = await send(method, url);
  expect([answer.status, answer.headers.location]).toEqual([307, location]);
});

test.each(['%ZZ', '%', 'a%ff', '%E2%82', '%41%zz'])('E1: the undecodable parameter %s is 422 and not 400', async (segment) => {
  const answer = await send('GET', `/api/v1/verify/v1/token/${segment}`);
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toMatchObject([{ type: 'uuid_parsing', loc: ['path', 'token_id'] }]);
});

test('E1: a parameter of thousands of characters is 422 and not 404', async () => {
  const answer = await send('GET', `/api/v1/verify/v1/token/${'a'.repeat(10_000)}`);
  expect([answer.status, answer.body.detail[0].input.length]).toEqual([422, 1024]);
});

test.each([
  ['x'.repeat(256), 201],
  [' !~', 201],
  ['é', 422],
  ['a\tb', 422],
])('S10: x-payment-transaction %j is %i', async (claim, status) => {
  const headers = { 'x-payment-transaction': claim };
  const answer = await send('POST', '/api/v1/agent/v1/stamp/basic', JSON.stringify({ hash: 'a'.repeat(64) }), headers);
  expect(answer.status).toBe(status);
  if (status === 422) expect(answer.body.detail[0].loc).toEqual(['header', 'x-payment-transaction']);
});

test.each([
  ['a request that is none', 'rubbish\r\n\r\n', 400],
  ['headers without end', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`, 431],
  ['two lengths', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 400],
])('E3: %s gets an error in the usual shape', async (_name, text, status) => {
  const socket = (await openTo(service.url)).on('error', () => undefined);
  socket.write(text);
  const answer = await answerOn(socket);
  expect(answer.status).toBe(status);
  expect(JSON.parse(answer.body)).toEqual({ detail: expect.any(String), code: 'bad_request', request_id: expect.any(String) });
  socket.destroy();
});

test('answers: JSON is not cached unless its route says so; headers forbid sniffing, framing and referrers', async () => {
  const health = await send('GET', '/health/');
  expect(health.headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
  });
  expect(health.headers).not.toHaveProperty('x-powered-by');
  expect((await send('GET', '/nope')).headers['cache-control']).toBe('no-store');
  expect((await send('GET', '/api/v1/agent/pricing')).headers['cache-control']).toBe('public, max-age=300');
});

test('pages: a strict Content-Security-Policy', async () => {
  const { headers } = await send('GET', '/');
  expect(headers['content-security-policy']).toBe(
    "default-src 'none';style-src 'self';script-src 'self';img-src 'self' data:;connect-src 'self';form-action 'self';" +
      "base-uri 'none';frame-ancestors 'none'",
  );
});
