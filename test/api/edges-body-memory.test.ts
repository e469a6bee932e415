import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { createBodyMemory } from '../../src/api/http/body-memory.ts';
import { createBodyReader } from '../../src/api/http/body-reader.ts';
import { formType, registerFormBody } from '../../src/api/http/form-body.ts';
import { encodeRequest } from '../../src/shared/rfc3161/index.ts';
import { rawPath, serveBodies } from '../support/body-app.ts';
import { buildMemoryApp } from '../support/memory-app.ts';
import { answerOn, listen, postHead } from '../support/raw-http.ts';
import { randomHash } from '../support/requests.ts';
import { serviceToken } from '../support/service.ts';

const large = 128 * 1024;
const largeBody = JSON.stringify({ token: 'x' }).padEnd(large);
const half = large / 2;
/** Room for the largest body, and for half of another. */
const small = { largestBytes: large, spareBytes: half, ownSpareBytes: half };

test('E10: large bodies pass one after another, and each gives back what it held', async () => {
  const memory = createBodyMemory(small);
  const { port } = await serveBodies({ memory }, large);
  const post = () =>
    fetch(`http://127.0.0.1:${port}${rawPath}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: largeBody });
  const answers = await Promise.all(Array.from({ length: 30 }, post));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  await expect.poll(() => memory.usedBytes).toBe(0);
});

test('memory is taken as a body arrives, not as it is announced', async () => {
  const memory = createBodyMemory(small);
  const { open } = await serveBodies({ memory }, large);
  const socket = await open();
  socket.write(`${postHead(rawPath, { 'content-length': large })}{`);
  await expect.poll(() => memory.usedBytes).toBeGreaterThan(0);
  expect(memory.usedBytes).toBeLessThan(large);
  socket.destroy();
  await expect.poll(() => memory.usedBytes).toBe(0);
});

test('an empty body opens no share of the memory, whoever reads it', async () => {
  const memory = createBodyMemory(small);
  const opened: unknown[] = [];
  const app = fastify();
  const open: typeof memory.open = (...sent) => {
    opened.push(sent);
    return memory.open(...sent);
  };
  registerFormBody(app, createBodyReader(app, { memory: { open, usedBytes: 0 } }));
  app.post('/', async ({ body }) => ({ body }));
  const post = (payload: string) =>
    app.inject({ method: 'POST', url: '/', headers: { 'content-type': formType, 'content-length': payload.length }, payload });
  expect((await post('a=b')).json()).toEqual({ body: { a: 'b' } });
  expect(opened.length).toBe(1);
  expect((await post('')).json()).toEqual({ body: {} });
  expect(opened.length).toBe(1);
});

test('E10: a body that finds no room in time is 503 with Retry-After; the eldest always has room', async () => {
  const memory = createBodyMemory({ ...small, waitMs: 50 });
  const { open } = await serveBodies({ memory }, large);
  const [eldest, next] = await Promise.all([open(), open()]);
  eldest.write(`${postHead(rawPath, { 'content-length': large })}{`);
  await expect.poll(() => memory.usedBytes).toBeGreaterThan(0);
  next.write(postHead(rawPath, { 'content-length': large }) + largeBody);
  const refused = await answerOn(next);
  expect(refused.status).toBe(503);
  expect(refused.head).toMatch(/retry-after: [1-9]/i);
  expect(JSON.parse(refused.body)).toMatchObject({ code: 'overloaded' });
  eldest.write(`"token": "x"}`.padEnd(large - 1));
  expect((await answerOn(eldest)).status).toBe(200);
  await expect.poll(() => memory.usedBytes).toBe(0);
  for (const socket of [eldest, next]) socket.destroy();
});

test('E10: a client that leaves, while it sends or while it waits, gives its memory back', async () => {
  const memory = createBodyMemory(small);
  const { open } = await serveBodies({ memory }, large);
  const [sending, waiting, last] = await Promise.all([open(), open(), open()]);
  sending.write(`${postHead(rawPath, { 'content-length': large })}{`);
  await expect.poll(() => memory.usedBytes).toBeGreaterThan(0);
  waiting.write(postHead(rawPath, { 'content-length': large }) + largeBody.slice(0, -1));
  await expect.poll(() => memory.usedBytes).toBeGreaterThan(half);
  last.write(postHead(rawPath, { 'content-length': large }) + largeBody);
  waiting.destroy();
  await once(waiting, 'close');
  sending.destroy();
  expect((await answerOn(last)).status).toBe(200);
  await expect.poll(() => memory.usedBytes).toBe(0);
  last.destroy();
});

test('a large body in chunks, cut anywhere, is read as it was sent', async () => {
  const { open } = await serveBodies();
  const socket = await open();
  const body = JSON.stringify({ token: Array.from({ length: 50_000 }, (_, index) => index).join(' ') });
  socket.write(postHead(rawPath, { 'transfer-encoding': 'chunked' }));
  for (let at = 0; at < body.length; at += 7_777) {
    const part = body.slice(at, at + 7_777);
    socket.write(`${part.length.toString(16)}\r\n${part}\r\n`);
  }
  socket.write('0\r\n\r\n');
  expect(JSON.parse((await answerOn(socket)).body)).toEqual({ body: JSON.parse(body) });
  socket.destroy();
});

test('E8: who sends too slowly is 408, his connection closed and his memory given back; a body that is finished in time is taken', async () => {
  const memory = createBodyMemory({ largestBytes: 1_000 });
  const { open } = await serveBodies({ memory, pace: { bytes: 500, share: 0, withinMs: 200 } }, 1_000);
  const [slow, other] = await Promise.all([open(), open()]);
  slow.write(`${postHead(rawPath, { 'content-length': 1_000 })}{"token"`);
  other.write(`${postHead(rawPath, { 'content-length': 13 })}{"token"`);
  await expect.poll(() => memory.usedBytes).toBeGreaterThan(0);
  other.write(':"x"}');
  expect((await answerOn(other)).status).toBe(200);
  const answer = await answerOn(slow);
  expect(answer.status).toBe(408);
  expect(answer.head).toMatch(/connection: close/i);
  expect(JSON.parse(answer.body)).toEqual({
    detail: expect.stringContaining('at least 500 bytes in 0.2 seconds'),
    code: 'request_timeout',
    request_id: expect.any(String),
  });
  await once(slow, 'close');
  await expect.poll(() => memory.usedBytes).toBe(0);
  other.destroy();
});

test('E8: who has sent much must send a share of it in the same time, or is 408', async () => {
  const { open } = await serveBodies({ pace: { bytes: 1, share: 0.5, withinMs: 200 } }, 1_000);
  const socket = await open();
  socket.write(`${postHead(rawPath, { 'content-length': 1_000 })}{`.padEnd(600));
  const drip = setInterval(() => socket.write(' '), 20);
  const answer = await answerOn(socket);
  clearInterval(drip);
  expect([answer.status, JSON.parse(answer.body).code]).toEqual([408, 'request_timeout']);
  socket.destroy();
});

test('one address without a token fills its own share, and neither that of others nor that of a product', async () => {
  const app = await buildMemoryApp({ settings: { SEALED_MAX_BYTES: '1000', TRUST_PROXY: '127.0.0.1', TSA_DOOR: 'token' } });
  const { port, open } = await listen(app);
  const mebibyte = 1024 * 1024;
  const attack = async (bytes: number) => {
    const body = `${postHead('/api/v1/workflow/start', { 'x-forwarded-for': '192.0.2.1', 'content-length': bytes })}{`.padEnd(bytes);
    const sockets = await Promise.all(Array.from({ length: 60 }, open));
    for (const socket of sockets) socket.on('error', () => undefined).write(body);
    const refused = await Promise.any(sockets.map(answerOn));
    expect([refused.status, JSON.parse(refused.body).code]).toEqual([503, 'overloaded']);
    return sockets;
  };
  const attackers = [...(await attack(mebibyte)), ...(await attack(64 * 1024))];

  const stamp = (path: string, headers: Record<string, string>) =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ hash: randomHash() }).padEnd(mebibyte / 20),
    }).then(({ status }) => status);
  const agent = '/api/v1/agent/v1/stamp/basic';
  expect(await stamp(agent, { 'x-forwarded-for': '192.0.2.1' })).toBe(503);
  expect(await stamp(agent, { 'x-forwarded-for': '192.0.2.2' })).toBe(201);
  expect(await stamp('/api/v1/internal/v1/stamp', { 'x-forwarded-for': '192.0.2.1', 'x-service-token': serviceToken })).toBe(201);
  const query = await fetch(`http://127.0.0.1:${port}/tsa`, {
    method: 'POST',
    headers: { 'x-forwarded-for': '192.0.2.1', authorization: `Bearer ${serviceToken}`, 'content-type': 'application/timestamp-query' },
    body: encodeRequest({ imprint: { algorithm: 'sha256', digest: randomBytes(32) }, nonce: undefined }),
  });
  const readByTheDoor = 'tsa_unavailable';
  expect(await query.json()).toMatchObject({ code: readByTheDoor });
  for (const socket of attackers) socket.destroy();
  await app.close();
});
