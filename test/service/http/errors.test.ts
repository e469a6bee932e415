import { expect, test } from 'vitest';
import { getJson, randomHash, stampInternal, verifyRaw } from '../../support/requests.ts';
import { sharedService } from '../../support/service.ts';

const service = await sharedService();

test('metadata may have any names and texts; the stamp is still made (S4)', async () => {
  const metadata = { '': 'x', $set: '1', 'a.b': '2', '\u0000': '\u0000', ['__proto__']: 'p', '0': 'zero' };
  expect((await stampInternal(service, { hash: randomHash(), metadata })).status).toBe(201);
});

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

test('content above SEALED_MAX_BYTES is 413; at the limit it is stamped (S3)', async () => {
  const sealed = (bytes: number) => stampInternal(service, { content_b64: Buffer.alloc(bytes).toString('base64'), tier: 'sealed' });
  expect((await sealed(100_000)).status).toBe(201);
  expect(await sealed(100_001)).toMatchObject({ status: 413, body: { code: 'payload_too_large' } });
});

test('any raw token gets a result or a refusal, never a 5xx (V4)', async () => {
  for (const token of ['', '=', 'AAAA', '{"a":1}', 'é', '\u0000', 'A'.repeat(500_000), 'MIIB'.repeat(1000)]) {
    const answer = await verifyRaw(service, token);
    expect(answer.status, token.slice(0, 20)).toBe(200);
    expect(answer.body).toMatchObject({ valid: false, reason: expect.stringMatching(/^[a-z0-9_]+: \S/) });
  }
  expect((await verifyRaw(service, 'A'.repeat(3 * 2 ** 20))).status).toBe(413);
});
