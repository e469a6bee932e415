import { once } from 'node:events';
import { expect, test } from 'vitest';
import { createBodyBudget } from '../../../src/api/http/body-reader.ts';
import { rawPath, serveBodies } from '../../support/body-app.ts';
import { answerOn, postHead } from '../../support/raw-http.ts';

const large = 128 * 1024;
const largeBody = JSON.stringify({ token: 'x' }).padEnd(large);

test('E10: one address has room for one largest body, its kind of caller for four; the other kind is unaffected', () => {
  const budget = createBodyBudget(10);
  const bytesFor = (hasToken: boolean, address: string) => {
    let taken = 0;
    try {
      for (; ; taken += 2) budget.open({ hasToken, address }).take(2);
    } catch {
      return taken;
    }
  };
  expect(['a', 'b', 'c', 'd', 'e'].map((address) => bytesFor(false, address))).toEqual([10, 10, 10, 10, 0]);
  expect(bytesFor(true, 'a')).toBe(10);
});

test('E10: without room a large body is 503 at once, a small one is read; a client that leaves frees its room', async () => {
  const { open } = await serveBodies({ budget: createBodyBudget(large) }, large);
  const [slow, next, small] = await Promise.all([open(), open(), open()]);
  slow.write(`${postHead(rawPath, { 'content-length': large, expect: '100-continue' })}`);
  expect((await answerOn(slow)).status).toBe(100);
  next.write(postHead(rawPath, { 'content-length': large }) + largeBody);
  const refused = await answerOn(next);
  expect([refused.status, JSON.parse(refused.body).code]).toEqual([503, 'overloaded']);
  expect(refused.head).toMatch(/retry-after: [1-9]/i);
  small.write(postHead(rawPath, { 'content-length': 13 }) + largeBody.slice(0, 13));
  expect((await answerOn(small)).status).toBe(200);
  slow.destroy();
  await expect
    .poll(async () => {
      next.write(postHead(rawPath, { 'content-length': large }) + largeBody);
      return (await answerOn(next)).status;
    })
    .toBe(200);
  for (const socket of [next, small]) socket.destroy();
});

test('E10: chunks take room as they arrive', async () => {
  const { open } = await serveBodies({ budget: createBodyBudget(large) }, large);
  const [slow, next] = await Promise.all([open(), open()]);
  slow.write(postHead(rawPath, { 'content-length': large, expect: '100-continue' }));
  await answerOn(slow);
  next.write(postHead(rawPath, { 'transfer-encoding': 'chunked' }));
  next.write(`${large.toString(16)}\r\n${largeBody}\r\n0\r\n\r\n`);
  expect((await answerOn(next)).status).toBe(503);
  for (const socket of [slow, next]) socket.destroy();
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

test('E8: a body that arrives too late is 408, and the connection is closed', async () => {
  const { open } = await serveBodies({ shortestMs: 100 }, 1_000);
  const slow = await open();
  slow.write(`${postHead(rawPath, { 'content-length': 1_000 })}{"token"`);
  const answer = await answerOn(slow);
  expect([answer.status, JSON.parse(answer.body).code]).toEqual([408, 'request_timeout']);
  expect(answer.head).toMatch(/connection: close/i);
  await once(slow, 'close');
});
