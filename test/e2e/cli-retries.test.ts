import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { runCommand, temporaryFolder } from '../support/command.ts';
import { sha256 } from '../support/requests.ts';
import { startService } from '../support/service.ts';

// Each test starts processes, and some wait as the service asks them to.
vi.setConfig({ testTimeout: 120_000 });

/** A service that answers as it is told, and the idempotency keys that it was sent. */
async function startStub(answer: (response: ServerResponse, attempt: number, request: IncomingMessage) => void) {
  const keys: unknown[] = [];
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      keys.push(request.headers['idempotency-key']);
      answer(response, keys.length, request);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, keys };
}

function stampOn(url: string) {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'a'), 'a');
  return { outcome: runCommand(['stamp', 'a'], { cwd, env: { QSTAMP_URL: url } }), saved: () => existsSync(join(cwd, 'a.qstamp.json')) };
}

const stamp = {
  token_id: '01890a5d-ac96-774b-bcce-b302099a8057',
  issued_at: '2026-01-01T00:00:00.000Z',
  content_sha256: sha256('a'),
  token: 'AAAA',
  tier: 'basic',
  tsp_provider: 'mock',
  is_qualified: false,
  verify_url: '/api/v1/verify/v1/token/01890a5d-ac96-774b-bcce-b302099a8057',
  sealed_storage_url: null,
};
const sendJson = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
const refusal = { detail: 'Not now.', code: 'overloaded', request_id: 'r' };

test('E7, E10, E11: tries again after 429, 503 and 504, with the same idempotency key', async () => {
  const statuses = [429, 503, 504];
  const { url, keys } = await startStub((response, attempt) => {
    const status = statuses[attempt - 1];
    if (status === undefined) sendJson(response, 201, stamp);
    else sendJson(response, status, refusal, { 'retry-after': '0' });
  });
  const { outcome, saved } = stampOn(url);
  expect((await outcome).code).toBe(0);
  expect(saved()).toBe(true);
  expect(keys).toHaveLength(4);
  expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
  expect(new Set(keys).size).toBe(1);
});

test('gives up after five times: 4', async () => {
  const { url, keys } = await startStub((response) => sendJson(response, 503, refusal, { 'retry-after': '0' }));
  const { code, stderr } = await stampOn(url).outcome;
  expect([code, stderr]).toEqual([4, 'a: the service answered 503: Not now.\n']);
  expect(keys).toHaveLength(5);
});

test('does not wait for an hour: 4', async () => {
  const { url, keys } = await startStub((response) => sendJson(response, 429, refusal, { 'retry-after': '3600' }));
  expect((await stampOn(url).outcome).code).toBe(4);
  expect(keys).toHaveLength(1);
});

test('E9: a provider that failed is 4, at once', async () => {
  const { url, keys } = await startStub((response) => sendJson(response, 502, refusal));
  expect((await stampOn(url).outcome).code).toBe(4);
  expect(keys).toHaveLength(1);
});

test('an answer that is none of this service is 4, and nothing is saved', async () => {
  const { url } = await startStub((response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>It works!</h1>'));
  const { outcome, saved } = stampOn(url);
  expect(await outcome).toMatchObject({ code: 4, stderr: expect.stringContaining('is not this service') });
  expect(saved()).toBe(false);
});

test('a stamp of another hash is not saved: 5', async () => {
  const { url } = await startStub((response) => sendJson(response, 201, { ...stamp, content_sha256: sha256('b') }));
  const { outcome, saved } = stampOn(url);
  expect((await outcome).code).toBe(5);
  expect(saved()).toBe(false);
});

test('a connection that breaks off is 4', async () => {
  const { url } = await startStub((_response, _attempt, request) => request.socket.destroy());
  expect(await stampOn(url).outcome).toMatchObject({ code: 4, stderr: expect.stringContaining('cannot be reached') });
});

test('E11: a stamp that takes long is waited for, on the real service', async () => {
  const service = await startService({ workers: 0, settings: { STAMP_WAIT_MS: '100' } });
  const { outcome, saved } = stampOn(service.url);
  await service.startWorker();
  expect((await outcome).code).toBe(0);
  expect(saved()).toBe(true);
});
