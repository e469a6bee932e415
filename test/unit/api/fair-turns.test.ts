import { createServer, type IncomingMessage, type Server } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { shareTurns } from '../../../src/api/http/fair-turns.ts';

function watched() {
  const begun: string[] = [];
  const server = createServer((request: IncomingMessage) => void begun.push(request.url ?? ''));
  server.removeAllListeners('connection');
  shareTurns(server);
  return { begun, server };
}
const ask = (server: Server, url: string) => void server.emit('request', { url }, {});

test('64 requests begin in a turn, all begin in the end in the order in which they came, and /health/live begins at once', async () => {
  const { begun, server } = watched();
  const urls = Array.from({ length: 200 }, (_, index) => `/${index}`);
  for (const url of urls) ask(server, url);
  ask(server, '/health/live');
  expect(begun).toEqual([...urls.slice(0, 64), '/health/live']);
  await nextTurn();
  ask(server, '/last');
  expect(begun.length).toBe(129);
  await expect.poll(() => begun.filter((url) => url !== '/health/live')).toEqual([...urls, '/last']);
});

test('while connections come, those that wait begin later, but they do begin', async () => {
  const { begun, server } = watched();
  for (let index = 0; index < 65; index += 1) ask(server, `/${index}`);
  server.emit('connection', {});
  await nextTurn();
  expect(begun.length).toBe(64);
  while (begun.length < 65) {
    server.emit('connection', {});
    await nextTurn();
  }
  expect(begun.at(-1)).toBe('/64');
});
