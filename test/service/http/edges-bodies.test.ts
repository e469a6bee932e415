import { once } from 'node:events';
import { expect, test } from 'vitest';
import { rawPath as raw, serveBodies as serve, startBodies as start } from '../../support/body-app.ts';
import { answerOn, postHead } from '../../support/raw-http.ts';

const token = JSON.stringify({ token: 'x' });

test.each([
  [undefined, 200],
  ['application/json', 200],
  ['Application/JSON; charset=utf-8', 200],
  ['application/vnd.api+json', 200],
  ['application/problem+JSON;v=1', 200],
  ['text/plain', 422],
  ['text/json', 422],
  ['application/x-www-form-urlencoded', 422],
  ['multipart/form-data; boundary=x', 422],
  ['application/jsonp', 422],
  ['application/json+xml', 422],
  ['json', 422],
  ['', 422],
])('E8: the content type %s is %i', async (type, status) => {
  const app = await start();
  const answer = await app.inject({
    method: 'POST',
    url: raw,
    payload: token,
    headers: type === undefined ? {} : { 'content-type': type },
  });
  expect(answer.statusCode).toBe(status);
  const msg = 'Input should be a valid dictionary or object to extract fields from. Send Content-Type: application/json.';
  if (status === 422) expect(answer.json()).toEqual({ detail: [{ type: 'model_attributes_type', loc: ['body'], msg, input: token }] });
});

test('E8: without JSON as its content type, an empty body counts as missing, and of a large one the answer repeats only the beginning', async () => {
  const app = await start();
  const itemOf = async (payload: string | Buffer) => {
    const answer = await app.inject({ method: 'POST', url: raw, payload, headers: { 'content-type': 'text/plain' } });
    return answer.json().detail[0];
  };
  expect(await itemOf('')).toMatchObject({ type: 'missing', loc: ['body'] });
  expect((await itemOf('€'.repeat(100_000))).input).toBe('€'.repeat(1024));
  expect((await itemOf(Buffer.of(0x61, 0xff))).input).toBe('a\ufffd');
});

test('E8: a body with a content coding is 415; identity is allowed', async () => {
  const app = await start();
  const post = (coding: string) => app.inject({ method: 'POST', url: raw, payload: token, headers: { 'content-encoding': coding } });
  expect((await post('gzip')).statusCode).toBe(415);
  expect((await post('identity')).statusCode).toBe(200);
  expect((await post('Identity')).statusCode).toBe(200);
});

test('E8: a body above the limit is 413 by its declared length alone; a body at the limit is read', async () => {
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

test('E8: chunks are counted, and a client that is still sending can read its 413', async () => {
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

test('E8: an upload far above the limit, sent in full before it reads, gets an answer and no reset', async () => {
  const { port } = await serve({}, 1000);
  const post = (type: string) =>
    fetch(`http://127.0.0.1:${port}${raw}`, {
      method: 'POST',
      headers: { 'content-type': type },
      body: Buffer.alloc(20 * 1024 * 1024, 'x'),
    });
  expect((await post('application/json')).status).toBe(413);
  expect((await post('text/plain')).status).toBe(413);
});

test('E8: the unread rest of a body may take no longer than the shortest body', async () => {
  const { open: connect } = await serve({ shortestMs: 100 });
  for (const path of [raw, '/nowhere']) {
    const socket = await connect();
    const closed = once(socket, 'close');
    socket.write(`${postHead(path, { 'content-encoding': 'gzip', 'content-length': 1000 })}xxx`);
    expect((await answerOn(socket)).status).toBe(path === raw ? 415 : 404);
    await closed;
  }
});

test('a body in pieces, cut inside its characters, is read correctly', async () => {
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

test('E1: the connection stays open after a refused body', async () => {
  const { open: connect } = await serve();
  const socket = await connect();
  for (const body of ['{', '[]', token]) {
    socket.write(postHead(raw, { 'content-length': body.length }) + body);
    const { status, head } = await answerOn(socket);
    expect([status, /connection: close/i.test(head)]).toEqual([body === token ? 200 : 422, false]);
  }
  socket.destroy();
});
