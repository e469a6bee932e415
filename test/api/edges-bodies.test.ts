import { once } from 'node:events';
import { fastify } from 'fastify';
import { afterEach, expect, test } from 'vitest';
import { createByteBudget } from '../../src/api/http/byte-budget.ts';
import { registerErrorHandler } from '../../src/api/http/errors.ts';
import { type JsonBodyOptions, registerJsonBody } from '../../src/api/http/json-body.ts';
import { edgeServerOptions } from '../../src/api/http/server-options.ts';
import { createRequestParser } from '../../src/api/http/validation.ts';
import { rawVerifyRequest } from '../../src/shared/contract/verify.ts';
import { answerOn, listen, postHead } from '../support/raw-http.ts';

const raw = '/api/v1/verify/v1/raw';
const token = JSON.stringify({ token: 'x' });
const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const app of open.splice(0)) await app.close();
});

/** The reader of bodies alone, with budgets and limits of a size to be tried, behind one path that answers with what it has read. */
async function start(jsonBody: JsonBodyOptions = {}, bodyLimit = 1024 * 1024) {
  const app = fastify({ ...edgeServerOptions, bodyLimit });
  registerErrorHandler(app);
  registerJsonBody(app, jsonBody);
  const parse = createRequestParser({ body: rawVerifyRequest });
  app.post(raw, async (request) => parse(request));
  open.push(app);
  return app;
}

async function serve(jsonBody: JsonBodyOptions = {}, bodyLimit?: number) {
  return listen(await start(jsonBody, bodyLimit));
}

test.each([
  [undefined, 200],
  ['application/json', 200],
  ['Application/JSON; charset=utf-8', 200],
  ['application/vnd.api+json', 200],
  ['application/problem+JSON;v=1', 200],
  ['text/plain', 415],
  ['text/json', 415],
  ['application/x-www-form-urlencoded', 415],
  ['multipart/form-data; boundary=x', 415],
  ['application/jsonp', 415],
  ['application/json+xml', 415],
  ['json', 415],
])('E8: the content type %s is %i', async (type, status) => {
  const app = await start();
  const answer = await app.inject({
    method: 'POST',
    url: raw,
    payload: token,
    headers: type === undefined ? {} : { 'content-type': type },
  });
  expect(answer.statusCode).toBe(status);
  if (status === 415) expect(answer.json()).toMatchObject({ code: 'unsupported_media_type', request_id: expect.any(String) });
});

test('E8: a body with a content coding is 415, and identity is none', async () => {
  const app = await start();
  const post = (coding: string) => app.inject({ method: 'POST', url: raw, payload: token, headers: { 'content-encoding': coding } });
  expect((await post('gzip')).statusCode).toBe(415);
  expect((await post('identity')).statusCode).toBe(200);
  expect((await post('Identity')).statusCode).toBe(200);
});

test('E1: no body, and the body null, are missing', async () => {
  const app = await start();
  const missing = { detail: [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }] };
  for (const payload of [undefined, '', 'null', ' null ']) {
    const answer = await app.inject({ method: 'POST', url: raw, ...(payload !== undefined && { payload }) });
    expect([answer.statusCode, answer.json()]).toEqual([422, missing]);
  }
});

test('E8: a body above the limit is 413 by its length alone, and one that fits the limit is read', async () => {
  const { open: connect } = await serve({}, 1000);
  const socket = await connect();
  const fits = token.padEnd(1000);
  socket.write(postHead(raw, { 'content-length': 1000 }) + fits);
  expect((await answerOn(socket)).status).toBe(200);
  socket.write(`${postHead(raw, { 'content-length': 1001 })}${fits} `);
  const refused = await answerOn(socket);
  expect(refused.status).toBe(413);
  expect(JSON.parse(refused.body)).toEqual({
    detail: 'The body may have at most 1000 bytes.',
    code: 'payload_too_large',
    request_id: expect.any(String),
  });
  socket.write(postHead(raw, { 'content-length': token.length }) + token);
  expect((await answerOn(socket)).status).toBe(200);
  socket.destroy();
});

test('E8: chunks are counted, and the client that still sends gets to read its 413', async () => {
  const { open: connect } = await serve({}, 100_000);
  const socket = await connect();
  socket.write(postHead(raw, { 'transfer-encoding': 'chunked' }));
  const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
  for (let sent = 0; sent < 400; sent += 1) socket.write(chunk);
  socket.write('0\r\n\r\n');
  const answer = await answerOn(socket);
  expect(answer.status).toBe(413);
  expect(answer.head).not.toMatch(/connection: close/i);
  socket.destroy();
});

test('E8: an upload far above the limit, sent in full before anything is read, is answered and not reset', async () => {
  const { port } = await serve({}, 1000);
  const post = (type: string) =>
    fetch(`http://127.0.0.1:${port}${raw}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: Buffer.alloc(20 * 1024 * 1024, 'x'),
    });
  expect((await post('application/json')).status).toBe(413);
  expect((await post('text/plain')).status).toBe(415);
});

test('a body in pieces, cut inside its characters, is read as one', async () => {
  const { open: connect } = await serve();
  const socket = await connect();
  const body = Buffer.from(JSON.stringify({ token: 'é😀' }));
  socket.write(postHead(raw, { 'content-length': body.length }));
  for (const octet of body) {
    socket.write(Buffer.of(octet));
    await new Promise(setImmediate);
  }
  expect(JSON.parse((await answerOn(socket)).body)).toEqual({ body: { token: 'é😀' } });
  socket.destroy();
});

test('E1: a refused body does not cost the connection', async () => {
  const { open: connect } = await serve();
  const socket = await connect();
  for (const body of ['{', '[]', token]) {
    socket.write(postHead(raw, { 'content-length': body.length }) + body);
    const { status, head } = await answerOn(socket);
    expect([status, /connection: close/i.test(head)]).toEqual([body === token ? 200 : 422, false]);
  }
  socket.destroy();
});

const large = 64 * 1024;
const largeBody = JSON.stringify({ token: 'x' }).padEnd(large);

test('E10: large bodies pass one after another, and each gives back what it held', async () => {
  const budget = createByteBudget({ maxBytes: 2 * large });
  const { port } = await serve({ budget, largeBytes: 1024 });
  const post = () =>
    fetch(`http://127.0.0.1:${port}${raw}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: largeBody });
  const answers = await Promise.all(Array.from({ length: 40 }, post));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  await expect.poll(() => budget.freeBytes).toBe(2 * large);
});

test('E10: a large body that is not admitted in time is 503 with Retry-After, a small one passes', async () => {
  const budget = createByteBudget({ maxBytes: large, waitMs: 50 });
  const { open: connect } = await serve({ budget, largeBytes: 1024 });
  const [slow, refused, small] = await Promise.all([connect(), connect(), connect()]);
  slow.write(postHead(raw, { 'content-length': large }));
  await expect.poll(() => budget.freeBytes).toBe(0);
  refused.write(postHead(raw, { 'content-length': large }) + largeBody);
  const answer = await answerOn(refused);
  expect(answer.status).toBe(503);
  expect(answer.head).toMatch(/retry-after: [1-9]/i);
  expect(JSON.parse(answer.body)).toMatchObject({ code: 'overloaded' });
  small.write(postHead(raw, { 'content-length': token.length }) + token);
  expect((await answerOn(small)).status).toBe(200);
  slow.write(largeBody);
  expect((await answerOn(slow)).status).toBe(200);
  await expect.poll(() => budget.freeBytes).toBe(large);
  for (const socket of [slow, refused, small]) socket.destroy();
});

test('E10: a client that leaves, while it sends or while it waits, gives its share back', async () => {
  const budget = createByteBudget({ maxBytes: large, waitMs: 60_000 });
  const { open: connect } = await serve({ budget, largeBytes: 1024 });
  const [sending, waiting, next] = await Promise.all([connect(), connect(), connect()]);
  sending.write(`${postHead(raw, { 'content-length': large })}{`);
  await expect.poll(() => budget.freeBytes).toBe(0);
  waiting.write(postHead(raw, { 'content-length': large }));
  next.write(postHead(raw, { 'content-length': large }) + largeBody);
  waiting.destroy();
  await once(waiting, 'close');
  sending.destroy();
  expect((await answerOn(next)).status).toBe(200);
  await expect.poll(() => budget.freeBytes).toBe(large);
  next.destroy();
});

test('E10: chunks beyond what is small wait for their share, and are read in full', async () => {
  const budget = createByteBudget({ maxBytes: large });
  const { open: connect } = await serve({ budget, largeBytes: 1024 }, large);
  const [holder, chunked] = await Promise.all([connect(), connect()]);
  holder.write(postHead(raw, { 'content-length': large }));
  await expect.poll(() => budget.freeBytes).toBe(0);
  const half = largeBody.length / 2;
  chunked.write(postHead(raw, { 'transfer-encoding': 'chunked' }));
  for (const part of [largeBody.slice(0, half), largeBody.slice(half)]) chunked.write(`${part.length.toString(16)}\r\n${part}\r\n`);
  chunked.write('0\r\n\r\n');
  holder.write(largeBody);
  expect((await answerOn(holder)).status).toBe(200);
  expect((await answerOn(chunked)).status).toBe(200);
  for (const socket of [holder, chunked]) socket.destroy();
});

test('the budget admits in the order of arrival, and one that is larger than all of it alone', async () => {
  const budget = createByteBudget({ maxBytes: 10 });
  const order: string[] = [];
  const first = budget.reserve(6);
  const huge = budget.reserve(1000);
  const tiny = budget.reserve(1);
  for (const [name, { granted }] of Object.entries({ first, huge, tiny })) void granted.then(() => order.push(name));
  await first.granted;
  expect(budget.freeBytes).toBe(4);
  first.release();
  first.release();
  await huge.granted;
  expect([order, budget.freeBytes]).toEqual([['first', 'huge'], 0]);
  huge.release();
  await tiny.granted;
  tiny.release();
  expect(budget.freeBytes).toBe(10);
});
