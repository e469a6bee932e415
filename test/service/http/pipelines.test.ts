import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { boundPipelines } from '../../../src/api/http/connections.ts';
import { eventually } from '../../support/eventually.ts';

/** A server that answers when the test says so, and a client that has sent `count` requests in one piece. */
async function pipelined(count: number, padding = 0) {
  const begun: { readonly request: IncomingMessage; readonly response: ServerResponse }[] = [];
  const server = createServer((request, response) => void begun.push({ request, response }));
  boundPipelines(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = (): Socket => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    return socket;
  };
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const socket = client();
  let answers = '';
  socket.setEncoding('latin1').on('data', (text: string) => (answers += text));
  socket.write(
    Array.from({ length: count }, (_, index) => `GET /${index} HTTP/1.1\r\nhost: x\r\npadding: ${'x'.repeat(padding)}\r\n\r\n`).join(''),
  );
  return { begun, socket, client, answers: () => [...answers.matchAll(/<(\/\d+)>/g)].map(([, url]) => url) };
}

test('of many requests sent in one piece, 64 start at a time and few more are read; all get answers in order', async () => {
  const count = 1_000;
  const padding = 4 * 1024;
  const { begun, answers } = await pipelined(count, padding);
  await eventually(async () => begun.length === 64);
  let most = 0;
  let mostRead = 0;
  for (let answered = 0; answered < count; answered += 1) {
    await eventually(async () => begun.length > answered);
    most = Math.max(most, begun.length - answered);
    const { request, response } = begun[answered]!;
    mostRead = Math.max(mostRead, request.socket.bytesRead - answered * padding);
    response.end(`<${request.url}>`);
  }
  expect(most).toBe(64);
  expect(mostRead).toBeLessThan(128 * padding);
  await eventually(async () => answers().length === count);
  expect(answers()).toEqual(Array.from({ length: count }, (_, index) => `/${index}`));
});

test('waiting requests do not start once a write shows that their client left; other clients do not wait for them', async () => {
  const { begun, socket, client } = await pipelined(1_000);
  await eventually(async () => begun.length === 64);
  const other = client();
  other.write('GET /other HTTP/1.1\r\nhost: x\r\n\r\n');
  await eventually(async () => begun.at(-1)?.request.url === '/other');
  socket.resetAndDestroy();
  for (let answered = 0; answered < begun.length; answered += 1) begun[answered]!.response.end();
  await once(other, 'data');
  await eventually(async () => begun[0]!.request.socket.destroyed);
  for (const { response } of begun) response.end();
  await turn();
  expect(begun.length).toBeLessThan(2 * 64 + 1);
});
