import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { REASONS } from '../../../src/shared/domain/reasons.ts';
import { randomSerial } from '../../../src/shared/runtime/random-octets.ts';
import { issueCrl } from '../../../src/tsa/certificate.ts';
import { createPki } from '../../../src/tsa/pki.ts';
import { issueResponseWith, type Seams } from '../../../src/tsa/seams.ts';
import { collectionOf, openDatabase } from '../../support/database.ts';
import { isLong } from '../../support/depth.ts';
import { opensslVerify } from '../../support/openssl-tsa.ts';
import { postJson, randomHash, stampInternal, verifyById, verifyRaw } from '../../support/requests.ts';
import { type RunningService, sharedService, startPart, startService, testSettings } from '../../support/service.ts';
import { postQuery } from '../../support/tsa-client.ts';
import { FAULTY_CASES } from '../../support/tsa-faults.ts';
import { ask, createTsaLab } from '../../support/tsa-lab.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';

const download = async (service: RunningService, tokenId: unknown, part: string) => {
  const response = await service.fetch(`/api/v1/verify/v1/token/${tokenId}/${part}`);
  return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
};

describe('a stamp of a real TSA', () => {
  test('is an RFC 3161 token with its genTime, verifies by id and raw, and OpenSSL accepts the download (S8, V1, V2)', async () => {
    const tsa = await startTsa();
    const service = await startService({ settings: providersSettings([{ tsa, qualified: true }]) });
    const hash = randomHash();
    const { status, body } = await stampInternal(service, { hash });
    expect(status).toBe(201);
    expect(body).toMatchObject({ content_sha256: hash, tsp_provider: 'tsa-1', is_qualified: true });

    const expected = {
      valid: true,
      token_id: body.token_id,
      issued_at: body.issued_at,
      content_sha256: hash,
      imprint: { algorithm: 'sha256', digest: hash },
      tsp_provider: 'tsa-1',
      is_qualified: true,
      reason: null,
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

  test('is also available as an evidence record, which verifies raw for its hash only (S14, V2)', async () => {
    const tsa = await startTsa();
    const service = await startService({ settings: providersSettings([{ tsa, qualified: true }]) });
    const hash = randomHash();
    const { body } = await stampInternal(service, { hash });
    const { headers, body: record } = await download(service, body.token_id, 'evidence');
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('content-disposition')).toContain(`${body.token_id}.ers`);
    expect(record.includes(Buffer.from(String(body.token), 'base64'))).toBe(true);
    const raw = async (members: object) =>
      (await postJson(service, '/api/v1/verify/v1/raw', { token: record.toString('base64'), ...members })).body;
    const expected = {
      valid: true,
      token_id: null,
      issued_at: body.issued_at,
      content_sha256: hash,
      tsp_provider: 'tsa-1',
      is_qualified: true,
    };
    expect(await raw({})).toMatchObject(expected);
    expect(await raw({ hash })).toMatchObject(expected);
    expect(await raw({ hash: randomHash() })).toMatchObject({ valid: false, reason: expect.stringMatching(/^imprint_mismatch: /) });
    const longer = 'a'.repeat(96);
    expect(await raw({ hash: longer })).toMatchObject({ valid: false, reason: expect.stringMatching(/^imprint_algorithm_mismatch: /) });
  });

  test('verifies without an id if we did not issue it, but not for another hash (V2)', async () => {
    const tsa = await startTsa();
    const service = await startService({ settings: providersSettings([{ tsa }]) });
    const asked = ask({ digest: Buffer.from(randomHash(), 'hex') });
    const token = (await postQuery(tsa.url, asked.der)).body.toString('base64');
    const hash = asked.digest.toString('hex');
    const expected = { valid: true, token_id: null, content_sha256: hash, tsp_provider: 'tsa-1', is_qualified: false };
    expect((await verifyRaw(service, token)).body).toMatchObject(expected);
    expect((await postJson(service, '/api/v1/verify/v1/raw', { token, hash })).body).toMatchObject(expected);
    expect((await postJson(service, '/api/v1/verify/v1/raw', { token, hash: randomHash() })).body).toMatchObject({
      valid: false,
      reason: expect.stringMatching(/^imprint_mismatch: /),
    });
  });

  test('of a TSA that is only in TRUST_ANCHORS_FILE verifies raw, and is not qualified (V2)', async () => {
    const [provider, stranger] = [await startTsa(), await startTsa()];
    const settings = providersSettings([{ tsa: provider, qualified: true }]);
    const anchors = `${settings.TSP_PROVIDERS_FILE}.anchors.pem`;
    writeFileSync(anchors, stranger.pki.rootPem);
    const token = (await postQuery(stranger.url, ask().der)).body.toString('base64');
    const untrusting = await startService({ settings });
    expect((await verifyRaw(untrusting, token)).body).toMatchObject({ valid: false, reason: expect.stringMatching(/^untrusted_root: /) });
    const trusting = await startService({ settings: { ...settings, TRUST_ANCHORS_FILE: anchors } });
    expect((await verifyRaw(trusting, token)).body).toMatchObject({ valid: true, token_id: null, tsp_provider: null, is_qualified: false });
  });

  test('is refused if a provider lists its signer as revoked, whatever other anchors say (44)', async () => {
    const tsa = await startTsa();
    const { intermediate, signer, rootPem } = tsa.pki;
    const dayMs = 24 * 3_600_000;
    const crl = issueCrl(
      {
        number: 1n,
        thisUpdateMs: Date.now() - dayMs,
        nextUpdateMs: Date.now() + dayMs,
        revoked: [{ serialNumber: signer.serialNumber, revokedAtMs: Date.now() - dayMs, reason: 1 }],
      },
      intermediate,
    );
    const token = (await postQuery(tsa.url, ask().der)).body.toString('base64');
    const settings = providersSettings([
      { tsa, crl },
      { tsa, qualified: true },
    ]);
    const anchors = `${settings.TSP_PROVIDERS_FILE}.anchors.pem`;
    writeFileSync(anchors, rootPem);
    const service = await startService({ settings: { ...settings, TRUST_ANCHORS_FILE: anchors } });
    expect((await verifyRaw(service, token)).body).toMatchObject({ valid: false, reason: expect.stringMatching(/^certificate_revoked: /) });
  });

  test('under a policy that is not configured for its provider verifies, but belongs to no provider (V2)', async () => {
    const tsa = await startTsa();
    const settings = providersSettings([{ tsa, qualified: true, policy_oid: '1.2.3.4' }]);
    const service = await startService({ settings });
    const token = (await postQuery(tsa.url, ask().der)).body.toString('base64');
    expect((await verifyRaw(service, token)).body).toMatchObject({ valid: true, tsp_provider: null, is_qualified: false });
  });

  test('is not qualified if an unqualified provider shares the anchors', async () => {
    const pki = createPki({ nowMs: Date.now() });
    const [qualified, other] = [await startTsa({ pki }), await startTsa({ pki })];
    const service = await startService({ settings: providersSettings([{ tsa: qualified, qualified: true }, { tsa: other }]) });
    const token = (await postQuery(other.url, ask().der)).body.toString('base64');
    expect((await verifyRaw(service, token)).body).toMatchObject({ valid: true, is_qualified: false });
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

describe('a service refuses to start with', () => {
  const startWith = async (settings: Record<string, string>) => startPart('workers', await testSettings(settings));

  test('a provider without trust anchors', async () => {
    const tsa = await startTsa();
    const settings = providersSettings([{ tsa, trust_anchors_file: 'providers.json' }]);
    await expect(startWith(settings)).rejects.toThrow(
      /^TSP_PROVIDERS_FILE: [^\n]* \(tsa-1\)\.trust_anchors_file: "providers\.json" cannot be used: [^\n]*$/,
    );
  });

  test('a providers file with an unknown member', async () => {
    const tsa = await startTsa();
    await expect(startWith(providersSettings([{ tsa, retries: 3 }]))).rejects.toThrow(/TSP_PROVIDERS_FILE.*retries/);
  });

  test('the mock provider in production, unless a setting allows it by name', async () => {
    const production = { NODE_ENV: 'production', SERVICE_TOKENS: `test:${'x'.repeat(32)}` };
    await expect(startWith(production)).rejects.toThrow(/^TSP: /);
    const worker = await startWith({ ...production, TSP: 'mock' });
    await worker.stop();
  });
});

test('every token that must be refused gives 200 valid:false raw, with a code of the table (V3, V4)', async () => {
  const tsa = await startTsa();
  const service = await startService({ settings: providersSettings([{ tsa }]) });
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

test('S8: times in JSON have three, six or no digits after the second, also in records written with fewer', async () => {
  const digits = ['.25', '.250000', '.123456789', '', '.1234'];
  const shown = ['.250', '.250', '.123456', '', '.123400'];
  const pki = createPki({ nowMs: Date.now() });
  const second = new Date().toISOString().slice(0, 19);
  const tsa = await startTsa({ pki });
  const service = await startService({ settings: providersSettings([{ tsa }]), workers: 0 });
  const tokens = digits.map((fraction) => {
    const fields: Seams['fields'] = (given) => ({ ...given, genTime: `${second.replace(/[-:T]/g, '')}${fraction.replace(/0+$/, '')}Z` });
    return issueResponseWith({ fields }, { identity: pki.signer, policies: ['1.2.3'] }, ask({ nonce: undefined }).der, {
      timeMs: Date.now(),
      serial: randomSerial(),
    });
  });
  const times = await Promise.all(tokens.map(async (token) => (await verifyRaw(service, token.toString('base64'))).body.issued_at));
  expect(times).toEqual(shown.map((fraction) => `${second}${fraction}Z`));

  await service.startWorker();
  const { body } = await stampInternal(service, { hash: randomHash() });
  const stamps = collectionOf(await openDatabase(service), 'stamps');
  const [stored] = await stamps.find({}).toArray();
  const issuedAt = String((stored!.proofs as { issuedAt: string }[])[0]!.issuedAt);
  await stamps.updateOne({ _id: stored!._id }, { $set: { 'proofs.0.issuedAt': issuedAt.replace(/0*Z$/, 'Z').replace('.Z', 'Z') } });
  expect((await verifyById(service, body.token_id)).body).toMatchObject({ valid: true, issued_at: body.issued_at });
});
