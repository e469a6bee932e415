import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { getJson, internalHeaders, postJson, randomHash, stampAgent, stampInternal, verifyRaw } from '../support/requests.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ keep: true, settings: { SEALED_MAX_BYTES: '1000' } });
});
afterAll(() => service.stop());

describe('what a stamp is refused for with 422 (E1)', () => {
  test.each([
    ['neither hash nor content_b64', {}, ['body']],
    ['content_b64 in tier basic', { content_b64: 'AAAA' }, ['body']],
    ['content_b64 in tier plus', { content_b64: 'AAAA', tier: 'plus' }, ['body']],
    ['a hash that is not of the content (S1)', { content_b64: 'AAAA', hash: 'a'.repeat(64), tier: 'sealed' }, ['body']],
    ['white space in base64 (S2)', { content_b64: 'AA AA', tier: 'sealed' }, ['body', 'content_b64']],
    ['base64 without padding (S2)', { content_b64: 'AAA', tier: 'sealed' }, ['body', 'content_b64']],
    ['base64 with stray bits (S2)', { content_b64: 'AB==', tier: 'sealed' }, ['body', 'content_b64']],
    ['base64 of the URL alphabet (S2)', { content_b64: '-_-_', tier: 'sealed' }, ['body', 'content_b64']],
    ['metadata above 4 KB (S4)', { hash: 'a'.repeat(64), metadata: { k: 'é'.repeat(2_100) } }, ['body', 'metadata']],
  ])('%s is 422', async (_name, body, loc) => {
    const answer = await stampInternal(service, body);
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toEqual([expect.objectContaining({ type: 'value_error', loc })]);
  });

  test('metadata may have any names and texts: the stamp is made all the same (S4)', async () => {
    const metadata = { '': 'x', $set: '1', 'a.b': '2', '\u0000': '\u0000', ['__proto__']: 'p', '0': 'zero' };
    expect((await stampInternal(service, { hash: randomHash(), metadata })).status).toBe(201);
  });

  test('unknown members of a body are ignored (S6)', async () => {
    expect((await stampInternal(service, { hash: randomHash(), unknown: [1], __proto__: { a: 1 } })).status).toBe(201);
  });
});

describe('the other errors (E3, E4, E8)', () => {
  test.each(['/api/v1/internal/v1/stamps', '/api/v1/internal/stats/daily'])(
    '%s without a service token, or with a wrong one, is 401',
    async (path) => {
      for (const headers of [{}, { 'x-service-token': 'wrong' }, { 'x-service-token': '' }]) {
        const answer = await getJson(service, path, headers as Record<string, string>);
        expect(answer.status).toBe(401);
        expect(answer.headers.get('www-authenticate')).toBe('ServiceToken');
        expect(answer.body).toEqual({ detail: expect.any(String), code: 'unauthorized', request_id: expect.any(String) });
      }
    },
  );

  test('401 wins over a bad body, malformed JSON over 401 (error-shapes)', async () => {
    expect((await postJson(service, '/api/v1/internal/v1/stamp', {})).status).toBe(401);
    const malformed = await service.fetch('/api/v1/internal/v1/stamp', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{',
    });
    expect(malformed.status).toBe(422);
  });

  test('content above SEALED_MAX_BYTES is 413, at the limit it is stamped (S3)', async () => {
    const sealed = (bytes: number) => stampInternal(service, { content_b64: Buffer.alloc(bytes).toString('base64'), tier: 'sealed' });
    expect((await sealed(1000)).status).toBe(201);
    for (const bytes of [1001, 1_000_000]) {
      const answer = await sealed(bytes);
      expect(answer.status).toBe(413);
      expect(answer.body).toMatchObject({ code: 'payload_too_large' });
    }
  });

  test('content in a tier that takes none is 422 on every path, whatever its size below the limit (S5)', async () => {
    const content_b64 = Buffer.alloc(49_500).toString('base64');
    for (const path of ['internal/v1/stamp', 'agent/v1/stamp/basic', 'agent/v1/stamp/plus']) {
      const { status, body } = await postJson(service, `/api/v1/${path}`, { content_b64 }, internalHeaders);
      const detail = [expect.objectContaining({ msg: 'Value error, content_b64 is only allowed in tier sealed' })];
      expect([path, status, body]).toEqual([path, 422, { detail }]);
    }
  });

  test('an unknown path is a page to a browser, and JSON to everybody else (E8)', async () => {
    const toBrowser = await service.fetch('/nope', { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });
    expect(toBrowser.status).toBe(404);
    expect(toBrowser.headers.get('content-type')).toMatch(/^text\/html/);
    expect(await toBrowser.text()).toContain('No such page');
    for (const accept of ['*/*', 'application/json']) {
      const answer = await service.fetch('/nope', { headers: { accept } });
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([404, 'not_found']);
    }
  });

  test('GET /health leads to /health/', async () => {
    const response = await service.fetch('/health', { redirect: 'manual' });
    expect([response.status, new URL(response.headers.get('location') ?? '', response.url).pathname]).toEqual([307, '/health/']);
    expect((await getJson(service, '/health/')).body).toMatchObject({ checks: { redis: 'ok', mongodb: 'ok' }, version: '0.2.0' });
  });

  test('whatever is given as a raw token is a result or a refusal, never a 5xx (V4)', async () => {
    for (const token of ['', '=', 'AAAA', '{"a":1}', 'é', '\u0000', 'A'.repeat(500_000), 'MIIB'.repeat(1000)]) {
      const answer = await verifyRaw(service, token);
      expect(answer.status, token.slice(0, 20)).toBe(200);
      expect(answer.body).toMatchObject({ valid: false, reason: expect.stringMatching(/^[a-z0-9_]+: \S/) });
    }
    expect((await verifyRaw(service, 'A'.repeat(3 * 2 ** 20))).status).toBe(413);
  });
});

test('agents and verifiers are limited by address, with the headers of E7 (R2, R3)', async () => {
  const limited = await startService({ settings: { RATE_AGENT_PER_MINUTE: '3', RATE_VERIFY_PER_MINUTE: '2' } });
  const stamps = [];
  for (let request = 0; request < 4; request += 1) stamps.push(await stampAgent(limited, 'basic', { hash: randomHash() }));
  expect(stamps.map(({ status }) => status)).toEqual([201, 201, 201, 429]);
  expect(stamps[3]?.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(stamps[3]?.headers.get('ratelimit-limit')).toBe('3');
  expect(stamps[3]?.headers.get('ratelimit-remaining')).toBe('0');
  expect(stamps[3]?.body).toEqual({ detail: expect.any(String), code: 'rate_limited', request_id: expect.any(String) });
  const verified = [];
  for (let request = 0; request < 3; request += 1) verified.push((await verifyRaw(limited, 'x')).status);
  expect(verified).toEqual([200, 200, 429]);
});

test('R2: a stranger seals so many bytes in an hour; hashes, replays and callers with a service token do not count', async () => {
  const limited = await startService({ settings: { RATE_SEALED_BYTES_PER_HOUR: '100' } });
  const sealed = (bytes: number) => ({ content_b64: Buffer.alloc(bytes, 'x').toString('base64'), tier: 'sealed' });
  const key = { 'idempotency-key': 'a-key-of-a-stranger' };
  const strange = (body: object, headers = {}) => stampAgent(limited, 'sealed', body, headers);
  expect((await strange(sealed(60), key)).status).toBe(201);
  expect((await strange(sealed(60), key)).headers.get('idempotent-replayed')).toBe('true');
  const refused = await strange(sealed(41));
  expect([refused.status, refused.body.code, Number(refused.headers.get('retry-after')) > 3_500]).toEqual([429, 'rate_limited', true]);
  expect(refused.body.detail).toContain('At most 100 bytes of sealed content in 3600 seconds');
  expect((await strange(sealed(40))).status).toBe(201);
  expect((await strange({ hash: randomHash() })).status).toBe(201);
  expect((await stampInternal(limited, sealed(600))).status).toBe(201);
});
