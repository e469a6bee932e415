import { createServer, type IncomingMessage, type Server } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { shareTurns } from '../../../src/api/http/fair-turns.ts';

function watched(now?: () => number) {
  const begun: string[] = [];
  const server = createServer((request: IncomingMessage) => void begun.push(request.url ?? ''));
  server.removeAllListeners('connection');
  shareTurns(server, now);
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

test('while connections come, those that wait begin four a turn, but after 50 ms a whole turn of them', async () => {
  let now = 0;
  const { begun, server } = watched(() => now);
  for (let index = 0; index < 200; index += 1) ask(server, `/${index}`);
  for (now = 0; now < 50; now += 10) {
    const before = begun.length;
    server.emit('connection', {});
    await nextTurn();
    expect(begun.length).toBe(before + 4);
  }
  server.emit('connection', {});
  await nextTurn();
  expect(begun).toEqual(Array.from({ length: 64 + 5 * 4 + 64 }, (_, index) => `/${index}`));
});
