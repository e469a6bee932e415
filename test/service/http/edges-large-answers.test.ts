import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { fastify } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { createLargeAnswers } from '../../../src/api/http/connections.ts';
import { registerErrorHandler } from '../../../src/api/http/errors.ts';
import { eventually } from '../../support/eventually.ts';
import { listen } from '../../support/raw-http.ts';

/** A server of endless answers; returns a function that asks from an address and gives the status. */
async function serveEndless() {
  const app = fastify();
  const sockets: Socket[] = [];
  registerErrorHandler(app);
  const answers = createLargeAnswers();
  app.get('/', (request, reply) => {
    answers.begin(request, reply);
    return reply.send(Readable.from(Iterator.from({ next: () => ({ done: false, value: Buffer.alloc(65_536) }) }), { objectMode: false }));
  });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await app.close();
  });
  const { port } = await listen(app);
  return async (localAddress: string) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    sockets.push(socket);
    socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
    const [head] = await once(socket, 'data');
    socket.pause();
    return { socket, status: Number(String(head).split(' ')[1]) };
  };
}

test('E10: one address may have eight large answers at a time; a client that leaves makes room', async () => {
  const ask = await serveEndless();
  const readers = await Promise.all(Array.from({ length: 8 }, () => ask('127.0.0.1')));
  expect(new Set(readers.map(({ status }) => status))).toEqual(new Set([200]));
  expect((await ask('127.0.0.1')).status).toBe(503);
  expect((await ask('127.0.0.2')).status).toBe(200);
  readers[0]?.socket.destroy();
  await eventually(async () => (await ask('127.0.0.1')).status === 200);
});

test('E10: at most 64 large answers run at a time in total', async () => {
  const ask = await serveEndless();
  const asked = Array.from({ length: 65 }, (_, index) => ask(`127.0.0.${1 + Math.floor(index / 8)}`));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(64);
  expect(statuses.filter((status) => status === 503)).toHaveLength(1);
});
