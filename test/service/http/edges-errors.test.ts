import { type FastifyBaseLogger, fastify } from 'fastify';
import { expect, test } from 'vitest';
import { createEdgeServerOptions } from '../../../src/api/http/connections.ts';
import { registerErrorHandler } from '../../../src/api/http/errors.ts';
import { registerRequestLog } from '../../../src/api/http/request-log.ts';
import { type ErrorCode, ServiceError, statusOf } from '../../../src/shared/domain/service-error.ts';
import { createLogger } from '../../../src/shared/runtime/log.ts';
import { answerOn, openTo, sendExactly } from '../../support/raw-http.ts';
import { sharedService } from '../../support/service.ts';

const id = '0190d9f0-0000-7000-8000-000000000000';
const tokens = '/api/v1/verify/v1/token';

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
const send = async (method: string, path: string, payload?: string, sent: Record<string, string> = {}) => {
  const { text, status, headers } = await sendExactly(service, method, path, { payload, headers: sent });
  return { status, headers, body: text.startsWith('{') ? JSON.parse(text) : undefined };
};

test.each(Object.keys(statusOf) as ErrorCode[])('E3: the answer to %s has detail, code and request_id', async (code) => {
  const members = { token_id: id, detail: 'replaced', code: 'replaced' };
  const cause = new Error('mongodb://user:secret@10.0.0.1 refused');
  const { statusCode, headers, body } = await failWith(
    new ServiceError(code, `About ${code}.`, { members, credential: 'workflow_token', cause }),
  );
  expect([statusCode, headers['www-authenticate']]).toEqual([statusOf[code], 'Workflow']);
  expect(headers['retry-after'] !== undefined).toBe([429, 503, 504].includes(statusCode));
  expect(JSON.parse(body)).toEqual({ detail: `About ${code}.`, code, request_id: expect.any(String), token_id: id });
});

test('E10, E11: Retry-After is in whole seconds and never too short', async () => {
  const answer = await failWith(new ServiceError('stamp_pending', 'Accepted, but not stamped yet.', { retryAfterSeconds: 2.2 }));
  expect(answer.headers['retry-after']).toBe('3');
});

test.each([new TypeError('cannot read secret'), Object.assign(new Error('secret'), { statusCode: 404 })])(
  'E3: an unexpected error is 500 without a reason; the reason is in the log: %o',
  async (error) => {
    logged.length = 0;
    const { statusCode, body } = await failWith(error);
    const { request_id } = JSON.parse(body);
    expect([statusCode, JSON.parse(body)]).toEqual([
      500,
      { detail: 'Something went wrong on our side.', code: 'internal_error', request_id: expect.any(String) },
    ]);
    expect(logged.join()).toContain('secret');
    expect(logged.join()).toContain(request_id);
    expect(JSON.parse(logged.at(-1) ?? '{}')).toMatchObject({ level: 'error', outcome: 'failed', code: 'internal_error', status: 500 });
  },
);

test.each<[string, string, number, object?]>([
  ['GET', '/nope', 404],
  ['POST', '/api/v1/nope', 404],
  ['GET', `${tokens}/`, 404],
  ['GET', '//health', 404],
  ['HEAD', '/health/', 200],
  ['DELETE', '/api/v1/agent/v1/stamp/basic', 405, { allow: 'POST' }],
  ['PATCH', `/api/v1/workflow/${id}/stamp`, 405, { allow: 'POST' }],
  ['GET', '/api/v1/workflow/start', 405, { allow: 'POST' }],
  ['POST', '/health/', 405, { allow: 'GET, HEAD' }],
  ['OPTIONS', '/health/', 405, { allow: 'GET, HEAD' }],
  ['PROPFIND', '/health/', 405, { allow: 'GET, HEAD' }],
  ['PUT', '/%68ealth/', 405, { allow: 'GET, HEAD' }],
  ['POST', `${tokens}/${id}?x=1`, 405, { allow: 'GET, HEAD' }],
  ['GET', '/health', 200],
  ['GET', '/health?a=1&b=%2F', 200],
  ['POST', '/api/v1/verify/v1/raw/', 422],
  ['GET', `${tokens}/${id}/?q`, 200],
])('E8: %s %s is %i', async (method, url, status, named = {}) => {
  const answer = await send(method, url, method === 'POST' ? '{bad' : undefined);
  const code = { 404: 'not_found', 405: 'method_not_allowed' }[status];
  expect([answer.status, answer.headers, answer.body?.code]).toEqual([status, expect.objectContaining(named), code]);
});

test.each(['%ZZ', '%', 'a%ff', '%E2%82', '%41%zz', 'a'.repeat(10_000)])(
  'E1: the parameter %.9s is 422, not 400 or 404',
  async (segment) => {
    const { status, body } = await send('GET', `${tokens}/${segment}`);
    expect([status, body.detail]).toMatchObject([422, [{ type: 'uuid_parsing', loc: ['path', 'token_id'] }]]);
    expect(body.detail[0].input.length).toBeLessThanOrEqual(1024);
  },
);

test.each([
  ['x'.repeat(256), 201],
  [' !~', 201],
  ['é', 422],
  ['a\tb', 422],
])('S10: x-payment-transaction %j is %i', async (claim, status) => {
  const headers = { 'x-payment-transaction': claim };
  const answer = await send('POST', '/api/v1/agent/v1/stamp/basic', JSON.stringify({ hash: 'a'.repeat(64) }), headers);
  expect([answer.status, answer.body.detail?.[0].loc]).toEqual([status, status === 422 ? ['header', 'x-payment-transaction'] : undefined]);
});

test.each([
  ['a request that is none', 'rubbish\r\n\r\n', 400],
  ['headers without end', `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`, 431],
  ['two lengths', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 400],
])('E3: %s gets an error in the usual shape', async (_name, text, status) => {
  const socket = (await openTo(service.url)).on('error', () => undefined);
  socket.write(text);
  const answer = await answerOn(socket);
  const shape = { detail: expect.any(String), code: 'bad_request', request_id: expect.any(String) };
  expect([answer.status, JSON.parse(answer.body)]).toEqual([status, shape]);
  socket.destroy();
});

test('answers are not cached unless their route says so, and forbid sniffing, framing and referrers; pages have a strict policy', async () => {
  const fixed = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'x-frame-options': 'DENY' };
  for (const path of ['/health/', '/nope'])
    expect((await send('GET', path)).headers).toMatchObject({ ...fixed, 'cache-control': 'no-store' });
  expect((await send('GET', '/health/')).headers).not.toHaveProperty('x-powered-by');
  expect((await send('GET', '/api/v1/agent/pricing')).headers['cache-control']).toBe('public, max-age=300');
  const policy =
    "default-src 'none';style-src 'self';script-src 'self';img-src 'self' data:;connect-src 'self';form-action 'self';base-uri 'none';frame-ancestors 'none'";
  expect((await send('GET', '/')).headers['content-security-policy']).toBe(policy);
});
