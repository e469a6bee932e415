import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { boundPipelines } from '../../../src/api/http/pipelines.ts';
import { eventually } from '../../support/eventually.ts';

/** A server that answers when it is told to, and a client that has sent `count` requests in one piece. */
async function pipelined(count: number) {
  const begun: { readonly url: string | undefined; readonly response: ServerResponse }[] = [];
  const server = createServer((request, response) => void begun.push({ url: request.url, response }));
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
  socket.write(Array.from({ length: count }, (_, index) => `GET /${index} HTTP/1.1\r\nhost: x\r\n\r\n`).join(''));
  return { begun, socket, client, answers: () => [...answers.matchAll(/<(\/\d+)>/g)].map(([, url]) => url) };
}

test('of many requests in one piece 64 are begun at a time; all are answered, in their order', async () => {
  const count = 1_000;
  const { begun, answers } = await pipelined(count);
  await eventually(async () => begun.length === 64);
  let most = 0;
  for (let answered = 0; answered < count; answered += 1) {
    await eventually(async () => begun.length > answered);
    most = Math.max(most, begun.length - answered);
    const { url, response } = begun[answered]!;
    response.end(`<${url}>`);
  }
  expect(most).toBe(64);
  await eventually(async () => answers().length === count);
  expect(answers()).toEqual(Array.from({ length: count }, (_, index) => `/${index}`));
});

test('what waits on a connection is not begun once its client has left; other clients do not wait behind it', async () => {
  const { begun, socket, client } = await pipelined(1_000);
  await eventually(async () => begun.length === 64);
  const other = client();
  other.write('GET /other HTTP/1.1\r\nhost: x\r\n\r\n');
  await eventually(async () => begun.at(-1)?.url === '/other');
  socket.destroy();
  await eventually(async () => begun[0]!.response.destroyed);
  for (const { response } of begun) response.end();
  await once(other, 'data');
  await turn();
  expect(begun.length).toBe(65);
});
