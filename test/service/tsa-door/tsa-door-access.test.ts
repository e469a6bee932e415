import { describe, expect, test } from 'vitest';
import { opensslVerify } from '../../support/openssl-tsa.ts';
import { getJson, internalHeaders } from '../../support/requests.ts';
import { serviceToken, sharedService, startService } from '../../support/service.ts';
import { postToDoor, randomDigest, statusOf } from '../../support/tsa-door.ts';
import { ask } from '../../support/tsa-lab.ts';
import { sharedTsaService } from '../../support/tsa-service.ts';

const door = await sharedTsaService();

describe("sigstore's clients", () => {
  const post = (body: object | string) =>
    postToDoor(door.service, typeof body === 'string' ? body : JSON.stringify(body), {
      path: '/api/v1/timestamp',
      headers: { 'content-type': 'application/json' },
    });

  test('send JSON or DER, and get 201 (T5)', async () => {
    const digest = randomDigest('sha384');
    const text = `{"artifactHash":"${digest.toString('base64')}","hashAlgorithm":"sha384","certificates":true,"nonce":98765432109876543210987654321}`;
    const reply = await post(text);
    expect([reply.status, statusOf(reply)]).toEqual([201, 'granted']);
    const against = { query: ask({ hash: 'sha384', digest, nonce: 98765432109876543210987654321n }).der };
    expect((await opensslVerify({ answer: reply.body, against, rootPem: door.tsa.pki.rootPem })).output).toContain('Verification: OK');
    expect((await postToDoor(door.service, ask().der, { path: '/api/v1/timestamp' })).status).toBe(201);
  });

  test('are refused if they send no valid request (T5)', async () => {
    const artifactHash = randomDigest('sha256').toString('base64');
    for (const body of [
      {},
      { artifactHash },
      { artifactHash, hashAlgorithm: 'sha1' },
      { artifactHash, hashAlgorithm: 'sha512' },
      '{',
      { artifactHash, hashAlgorithm: 'sha256', nonce: 1.5 },
    ]) {
      expect((await post(body)).status).toBe(400);
    }
    const unserved = { artifactHash, hashAlgorithm: 'sha256', tsaPolicyOID: '2.999.7' };
    const reply = await post(unserved);
    expect([reply.status, statusOf(reply)]).toEqual([200, 'rejection unacceptedPolicy']);
  });
});

describe('TSA_DOOR (T4)', () => {
  const { der } = ask();
  const basic = (password: string) => ({ authorization: `Basic ${Buffer.from(`anybody:${password}`).toString('base64')}` });

  test('=token admits callers with a service token, as a password or a bearer token; the stamps belong to that product', async () => {
    const guarded = await startService({ settings: { ...door.service.settings, TSA_DOOR: 'token' }, workers: 0 });
    for (const headers of [{}, basic('wrong'), { authorization: 'Bearer wrong' }, { authorization: 'Basic !' }, internalHeaders]) {
      const reply = await postToDoor(guarded, der, { headers: headers as Record<string, string> });
      expect(reply.status).toBe(401);
      expect(reply.headers.get('www-authenticate')).toBe('Basic realm="qstamp", charset="UTF-8"');
    }
    for (const headers of [basic(serviceToken), { authorization: `bearer ${serviceToken}` }]) {
      const reply = await postToDoor(guarded, der, { headers });
      expect(statusOf(reply)).toBe('granted');
      const { body } = await getJson(guarded, '/api/v1/internal/v1/stamps?limit=1', internalHeaders);
      expect(body).toMatchObject({ items: [{ token_id: reply.headers.get('qstamp-stamp-id') }] });
    }
  });

  test('=token counts wrong tokens only, not a request without a token before the challenge (R5, RFC 7617 §2)', async () => {
    const settings = { ...door.service.settings, TSA_DOOR: 'token', RATE_WRONG_TOKEN_PER_MINUTE: '2' };
    const guarded = await startService({ settings, workers: 0 });
    const statusesOf = async (headers: Record<string, string>) => {
      const statuses = [];
      for (let sent = 0; sent < 4; sent++) statuses.push((await postToDoor(guarded, der, { headers })).status);
      return statuses;
    };
    expect(await statusesOf({})).toEqual([401, 401, 401, 401]);
    expect(await statusesOf(basic('wrong'))).toEqual([401, 401, 429, 429]);
  });

  test('=off closes the door', async () => {
    const closed = await startService({ settings: { ...door.service.settings, TSA_DOOR: 'off' }, workers: 0 });
    for (const path of ['/api/v1/tsa', '/tsa', '/api/v1/timestamp']) expect((await postToDoor(closed, der, { path })).status).toBe(404);
  });

  test('with the mock provider it is 503 with a sentence that names TSP=local (T6)', async () => {
    const reply = await postToDoor(await sharedService(), der);
    expect(reply.status).toBe(503);
    expect(reply.headers.has('retry-after')).toBe(true);
    expect(JSON.parse(String(reply.body))).toMatchObject({ code: 'tsa_unavailable', detail: expect.stringContaining('TSP=local') });
  });

  test('RATE_TSA_PER_MINUTE limits each address', async () => {
    const limited = await startService({ settings: { RATE_TSA_PER_MINUTE: '2' }, workers: 0 });
    const statuses = [];
    for (let sent = 0; sent < 3; sent++) statuses.push((await postToDoor(limited, der)).status);
    expect(statuses).toEqual([503, 503, 429]);
  });
});
