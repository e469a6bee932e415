import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REASONS } from '../../../src/shared/domain/reasons.ts';
import { encodeEvidenceRecord, issueResponse } from '../../../src/shared/rfc3161/index.ts';
import { randomSerial } from '../../../src/shared/runtime/random-octets.ts';
import { createPki, issueCrl, type Pki } from '../../support/certificates.ts';
import { isLong } from '../../support/depth.ts';
import { opensslVerify } from '../../support/openssl-tsa.ts';
import { postJson, randomHash, stampInternal, verifyById, verifyRaw } from '../../support/requests.ts';
import { type RunningService, type Service, sharedService, startService } from '../../support/service.ts';
import { postQuery } from '../../support/tsa-client.ts';
import { FAULTY_CASES } from '../../support/tsa-faults.ts';
import { ask, createTsaLab } from '../../support/tsa-lab.ts';
import { issueResponseWith, type Seams } from '../../support/tsa-seams.ts';
import { providersSettings, sharedTsaService, tsaPolicy } from '../../support/tsa-service.ts';

const download = async (service: RunningService, tokenId: unknown, part: string) => {
  const response = await service.fetch(`/api/v1/verify/v1/token/${tokenId}/${part}`);
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
};

describe('a stamp of a real TSA', () => {
  test('is an RFC 3161 token with its genTime, verifies by id and raw, and OpenSSL accepts the download (S8, V1, V2)', async () => {
    const { service, tsa } = await sharedTsaService({ qualified: true });
    const hash = randomHash();
    const { status, body } = await stampInternal(service, { hash });
    expect(status).toBe(201);
    expect(body).toMatchObject({ content_sha256: hash, tsp_provider: 'tsa-1', is_qualified: true });

    const expected = {
      ...{ valid: true, reason: null, token_id: body.token_id, issued_at: body.issued_at, content_sha256: hash },
      ...{ imprint: { algorithm: 'sha256', digest: hash }, tsp_provider: 'tsa-1', is_qualified: true },
    };
    expect((await verifyById(service, body.token_id)).body).toMatchObject(expected);
    expect((await verifyRaw(service, body.token)).body).toMatchObject(expected);

    const [tsr, tsq, token] = await Promise.all(['tsr', 'tsq', 'token'].map((part) => download(service, body.token_id, part)));
    expect([tsr, tsq, token].map((part) => part?.headers.get('content-type'))).toEqual([
      'application/timestamp-reply',
      'application/timestamp-query',
      'application/timestamp-token',
    ]);
    expect(tsr?.headers.get('content-disposition')).toContain(`${body.token_id}.tsr`);
    expect(token?.body.toString('base64')).toBe(body.token);
    const rootPem = tsa.pki.rootPem;
    for (const options of [
      { answer: tsr!.body, against: { query: tsq!.body }, rootPem },
      { answer: tsr!.body, against: { digest: hash }, rootPem },
      { answer: token!.body, against: { digest: hash }, rootPem, tokenIn: true },
    ]) {
      expect((await opensslVerify(options)).output).toContain('Verification: OK');
    }
    expect((await verifyRaw(service, tsr!.body.toString('base64'))).body).toMatchObject(expected);
    const query = tsa.server.received.at(-1);
    expect(query?.headers['content-type']).toBe('application/timestamp-query');
    expect(query?.body.equals(tsq!.body)).toBe(true);
  });

  test('is also available as an evidence record without a hash tree, which verifies raw for its hash only (S14, V2)', async () => {
    const { service } = await sharedTsaService({ qualified: true });
    const hash = randomHash();
    const { body } = await stampInternal(service, { hash });
    const { headers, body: record } = await download(service, body.token_id, 'evidence');
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('content-disposition')).toContain(`${body.token_id}.ers`);
    expect(headers.get('qstamp-batch')).toBeNull();
    expect(record).toEqual(encodeEvidenceRecord('sha256', { token: Buffer.from(String(body.token), 'base64') }));
    const raw = async (members: object) =>
      (await postJson(service, '/api/v1/verify/v1/raw?details=true', { token: record.toString('base64'), ...members })).body;
    const claims = { issued_at: body.issued_at, content_sha256: hash, tsp_provider: 'tsa-1', is_qualified: true };
    const expected = { valid: true, token_id: null, ...claims };
    expect(await raw({})).toMatchObject(expected);
    expect(await raw({ hash })).toMatchObject(expected);
    expect(await raw({ hash: randomHash() })).toMatchObject({ valid: false, reason: expect.stringMatching(/^imprint_mismatch: /) });
    const longer = 'a'.repeat(96);
    expect(await raw({ hash: longer })).toMatchObject({ valid: false, reason: expect.stringMatching(/^imprint_algorithm_mismatch: /) });
  });

  test('verifies without an id if we did not issue it, but not for another hash (V2)', async () => {
    const { service, tsa } = await sharedTsaService();
    const asked = ask({ digest: Buffer.from(randomHash(), 'hex') });
    const token = (await postQuery(tsa.url, asked.der)).body.toString('base64');
    const hash = asked.digest.toString('hex');
    const expected = { valid: true, token_id: null, content_sha256: hash, tsp_provider: 'tsa-1', is_qualified: false };
    expect((await verifyRaw(service, token)).body).toMatchObject(expected);
    const raw = async (given: string) => (await postJson(service, '/api/v1/verify/v1/raw?details=true', { token, hash: given })).body;
    expect(await raw(hash)).toMatchObject(expected);
    expect(await raw(randomHash())).toMatchObject({ valid: false, reason: expect.stringMatching(/^imprint_mismatch: /) });
  });

  test('of the mock provider is not an RFC 3161 token: 404 with a sentence, never qualified (47)', async () => {
    const service = await sharedService();
    const { body } = await stampInternal(service, { hash: randomHash() });
    for (const part of ['tsr', 'tsq', 'token', 'evidence']) {
      const answer = await download(service, body.token_id, part);
      expect(answer.status).toBe(404);
      expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'not_found', detail: expect.stringContaining('mock') });
    }
    expect((await verifyRaw(service, body.token)).body).toMatchObject({ valid: true, tsp_provider: 'mock', is_qualified: false });
  });
});

describe('a token that the service did not issue (V2)', () => {
  const [listed, elsewhere, both, stranger] = Array.from({ length: 4 }, () => createPki({ nowMs: Date.now() })) as [Pki, Pki, Pki, Pki];
  const at = (days: number) => Date.now() + days * 24 * 3_600_000;
  const revoked = [{ serialNumber: listed.signer.serialNumber, revokedAtMs: at(-1), reason: 1 }];
  const crl = issueCrl({ number: 1n, thisUpdateMs: at(-1), nextUpdateMs: at(1), revoked }, listed.intermediate);
  const tsaOf = (pki: Pki) => ({ tsa: { pki, url: 'http://127.0.0.1:9', server: undefined as never } });

  let api: Service;
  const closing: (() => void | Promise<void>)[] = [];
  beforeAll(async () => {
    const providers = [
      { ...tsaOf(listed), crl },
      { ...tsaOf(listed), qualified: true },
      { ...tsaOf(elsewhere), qualified: true, policy_oid: '1.2.3.4' },
      { ...tsaOf(both), qualified: true },
      tsaOf(both),
    ];
    const settings = providersSettings(providers, (close) => void closing.push(close));
    const anchors = `${settings.TSP_PROVIDERS_FILE}.anchors.pem`;
    writeFileSync(anchors, stranger.rootPem + listed.rootPem);
    api = await startService({ workers: 0, keep: true, settings: { ...settings, TRUST_ANCHORS_FILE: anchors } });
  });
  afterAll(async () => {
    await api.stop();
    for (const close of closing) await close();
  });

  const revocation = { valid: false, reason: expect.stringMatching(/^certificate_revoked: /) };
  test.each([
    ['of a TSA that is only in TRUST_ANCHORS_FILE verifies, and is not qualified', stranger, { valid: true, tsp_provider: null }],
    ['is refused if a provider lists its signer as revoked, whatever other anchors say (44)', listed, revocation],
    ['under a policy that is not configured for its provider belongs to no provider', elsewhere, { valid: true, tsp_provider: null }],
    ['is not qualified if an unqualified provider shares the anchors', both, { valid: true }],
  ])('%s', async (_name, { signer }, expected) => {
    const moment = { timeMs: Date.now(), serial: randomSerial() };
    const answer = issueResponse({ identity: signer, policies: ['2.999.1'] }, ask({ nonce: undefined }).der, moment);
    const qualified = expected.valid ? { token_id: null, is_qualified: false } : {};
    expect((await verifyRaw(api, answer.toString('base64'))).body).toMatchObject({ ...expected, ...qualified });
  });
});

test('every token that must be refused gives 200 valid:false raw, with a code of the table (V3, V4)', async () => {
  const { service } = await sharedTsaService();
  const lab = createTsaLab();
  const oneOfEachCode = [...new Map(FAULTY_CASES.map((faulty) => [faulty.code, faulty])).values()];
  for (const faulty of isLong ? FAULTY_CASES : oneOfEachCode) {
    const { answer } = faulty.make(lab);
    const { status, body } = await verifyRaw(service, answer.toString('base64'));
    if (status === 413 || status === 422) continue;
    expect(status, faulty.name).toBe(200);
    expect(body.valid, faulty.name).toBe(false);
    expect(Object.keys(REASONS), faulty.name).toContain((body.reason as string).split(':')[0]);
  }
});

test('S8: times in JSON have three, six or no digits after the second', async () => {
  const digits = ['.25', '.250000', '.123456789', '', '.1234'];
  const shown = ['.250', '.250', '.123456', '', '.123400'];
  const { service, tsa } = await sharedTsaService();
  const second = new Date().toISOString().slice(0, 19);
  const tokens = digits.map((fraction) => {
    const fields: Seams['fields'] = (given) => ({ ...given, genTime: `${second.replace(/[-:T]/g, '')}${fraction.replace(/0+$/, '')}Z` });
    const profile = { identity: tsa.pki.signer, policies: [tsaPolicy] as [string] };
    return issueResponseWith({ fields }, profile, ask({ nonce: undefined }).der, { timeMs: Date.now(), serial: randomSerial() });
  });
  const times = await Promise.all(tokens.map(async (token) => (await verifyRaw(service, token.toString('base64'))).body.issued_at));
  expect(times).toEqual(shown.map((fraction) => `${second}${fraction}Z`));
});
