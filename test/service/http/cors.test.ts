import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { browserTest, openPage } from '../../support/chromium.ts';
import { internalHeaders, randomHash, stampInternal } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const app = 'https://app.example';
const service = await sharedService();

const id = '01938f2e-5a3c-7d41-9c0e-2f6b8a417e55';
const preflight = async (path: string, origin: string, method = 'POST') => {
  const headers = { origin, 'access-control-request-method': method, 'access-control-request-headers': 'content-type,x-service-token' };
  const { status, headers: answered } = await service.fetch(path, { method: 'OPTIONS', headers });
  return [status, answered.get('access-control-allow-origin'), answered.get('access-control-allow-headers')];
};

test.each([
  ['GET', `/api/v1/verify/v1/token/${id}`],
  ['GET', `/api/v1/verify/v1/token/${id}/evidence`],
  ['POST', '/api/v1/verify/v1/raw'],
  ['GET', `/api/v1/workflow/${id}/proof/1`],
  ['GET', `/workflow/${id}/evidence.zip`],
  ['GET', '/api/v1/agent/pricing'],
  ['GET', '/openapi.json'],
])('E13: %s %s is open to every origin', async (method, path) => {
  const answer = await service.fetch(path, { method, headers: { origin: 'https://anywhere.example' } });
  expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  expect(answer.headers.get('access-control-expose-headers')).toMatch(/\bRateLimit, .*RateLimit-Policy\b/);
  expect(await preflight(path, 'https://anywhere.example', method)).toEqual([204, '*', 'content-type,x-service-token']);
});

test.each([
  ['/api/v1/internal/v1/stamp', app, 'https://other.example'],
  ['/api/v1/agent/v1/stamp/basic', app, 'https://assistant.example'],
  ['/api/v1/workflow/start', app, 'https://other.example'],
  [`/api/v1/workflow/${id}/complete`, app, 'https://other.example'],
  ['/mcp', app, 'https://other.example'],
  ['/mcp', 'https://assistant.example', 'https://other.example'],
])('E13: %s is open to %s but not to %s', async (path, allowed, foreign) => {
  expect(await preflight(path, allowed)).toEqual([204, allowed, 'content-type,x-service-token']);
  expect((await preflight(path, foreign))[1]).toBeNull();
});

test('E13: our pages are closed to other origins, and an OPTIONS that is not a preflight is treated as any method', async () => {
  for (const path of ['/', '/status', `/workflow/${id}`, '/verify']) expect((await preflight(path, app, 'GET'))[1]).toBeNull();
  const { status, headers } = await service.fetch('/api/v1/verify/v1/raw', { method: 'OPTIONS' });
  expect([status, headers.get('allow')]).toEqual([405, 'POST']);
});

browserTest('E13: a browser on another origin can verify a stamp, but cannot read the list of a product', async () => {
  const { body } = await stampInternal(service, { hash: randomHash() });
  const page = await openPage();
  const other = createServer((_request, response) => void response.setHeader('content-type', 'text/html').end('a page')).listen(
    0,
    '127.0.0.1',
  );
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  await page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
  const ask = (path: string, init: object) =>
    page.evaluate(
      ([address, options]) =>
        fetch(address as string, options as RequestInit).then(
          (answer) => answer.json(),
          () => 'refused by the browser',
        ),
      [`${service.url}${path}`, init] as const,
    );
  const verified = await ask('/api/v1/verify/v1/raw', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: body.token }),
  });
  expect(verified).toMatchObject({ valid: true, token_id: body.token_id });
  expect(await ask('/api/v1/internal/v1/stamps', { headers: internalHeaders })).toBe('refused by the browser');
});
