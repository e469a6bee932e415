import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  boolean,
  contextConstructed,
  integer,
  nullValue,
  objectIdentifier,
  octetString,
  sequence,
} from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { createTrustStore, OID, verifyResponse, withoutCertificates } from '../../src/shared/rfc3161/index.ts';
import { createFault } from '../../src/tsa/faults.ts';
import { DEVELOPMENT_POLICY } from '../../src/tsa/server.ts';
import { tries } from '../support/depth.ts';
import { mutated, mutations } from '../support/der-mutation.ts';
import { opensslQuery, opensslReplyText, opensslVerify } from '../support/openssl-tsa.ts';
import { eventually, getJson, internalHeaders, randomHash, stampInternal, verifyById, verifyRaw } from '../support/requests.ts';
import { type Service, serviceToken, startService } from '../support/service.ts';
import { postToDoor, statusOf } from '../support/tsa-door.ts';
import { type AskOptions, ask } from '../support/tsa-lab.ts';
import { providersSettings, type RunningTsa, startTsa } from '../support/tsa-service.ts';

const closers: (() => void | Promise<void>)[] = [];
const onEnd = (close: () => void | Promise<void>) => void closers.push(close);
let tsa: RunningTsa;
let service: Service;
beforeAll(async () => {
  tsa = await startTsa({ onEnd });
  const settings = providersSettings([{ tsa, policy_oid: DEVELOPMENT_POLICY }], onEnd);
  service = await startService({ settings: { ...settings, RATE_TSA_PER_MINUTE: '0', STAMP_WAIT_MS: '4000' }, keep: true });
});
afterAll(async () => {
  await service.stop();
  for (const close of closers) await close();
});

/** A worker tells the certificates within two seconds of its first answer. */
async function certificateChain(path: string): Promise<string> {
  await eventually(async () => (await service.fetch(path)).status === 200);
  const response = await service.fetch(path);
  expect(response.headers.get('content-type')).toBe('application/pem-certificate-chain');
  return response.text();
}

const random = (hash: 'sha256' | 'sha384' | 'sha512') => createHash(hash).update(randomBytes(16)).digest();

describe('a time-stamp client', () => {
  test('of OpenSSL gets a token that it verifies against its own query, and its stamp is stored and has a page (T1, T3)', async () => {
    const digest = randomHash();
    const query = await opensslQuery({ digest });
    const reply = await postToDoor(service, query);
    expect(reply.status).toBe(200);
    expect(statusOf(reply)).toBe('granted');
    const verdict = await opensslVerify({ answer: reply.body, against: { query }, rootPem: tsa.pki.rootPem });
    expect(verdict.output).toContain('Verification: OK');

    const tokenId = reply.headers.get('qstamp-stamp-id');
    expect(reply.headers.get('link')).toBe(`</api/v1/verify/v1/token/${tokenId}>; rel="describedby"`);
    expect((await verifyById(service, tokenId)).body).toMatchObject({ valid: true, content_sha256: digest, tsp_provider: 'tsa-1' });
    await eventually(async () => {
      const { body } = await getJson(service, '/api/v1/internal/stats/daily?days=1', internalHeaders);
      return (body as unknown as { caller_kind: string }[]).some(({ caller_kind }) => caller_kind === 'tsa');
    });
  });

  const trust = () =>
    createTrustStore({
      anchors: [tsa.pki.root.certificate],
      intermediates: [tsa.pki.intermediate.certificate, tsa.pki.signer.certificate],
    });
  const judge = (request: Buffer, answer: Buffer) =>
    verifyResponse(answer, { request, trust: trust(), sentAtMs: Date.now() - 30_000, receivedAtMs: Date.now(), nowMs: Date.now() });

  const requests: Readonly<Record<string, AskOptions>> = {
    'without a nonce': { nonce: undefined },
    'with nonce 0': { nonce: 0n },
    'with a nonce that begins with a zero octet': { nonce: 0x00ff_ffff_ffff_ffffn },
    'with a negative nonce': { nonce: -0x1122_3344_5566_7788n },
    'with a nonce of 64 octets': { nonce: BigInt(`0x7f${'ee'.repeat(63)}`) },
    'with the policy that is served': { policy: DEVELOPMENT_POLICY },
    'with NULL parameters': { nullParameters: true },
    'of SHA-384': { hash: 'sha384', digest: random('sha384') },
    'of SHA-512': { hash: 'sha512', digest: random('sha512') },
    'that wants no certificates': { certReq: false },
  };

  test.each(Object.entries(requests))('%s is answered to the letter (T2)', async (_name, options) => {
    const asked = ask({ digest: random('sha256'), ...options });
    const reply = await postToDoor(service, asked.der);
    expect(statusOf(reply)).toBe('granted');
    expect(judge(asked.der, reply.body)).toMatchObject({ ok: true, nonce: asked.nonce });
    const sent = tsa.server.received.at(-1)!.body;
    // What the TSA signs is the client's own imprint: its algorithm as it was written, parameters and all.
    const imprint = asked.der.subarray(5, asked.der.indexOf(asked.digest) + asked.digest.length);
    expect(sent.includes(imprint)).toBe(true);
    const hasCertificates = reply.body.includes(tsa.pki.signer.certificate);
    expect(hasCertificates).toBe(asked.certReq);

    const tokenId = reply.headers.get('qstamp-stamp-id');
    const { body } = await verifyById(service, tokenId);
    expect(body).toMatchObject({ valid: true, imprint: { algorithm: asked.hash, digest: asked.digest.toString('hex') } });
  });

  test('that wants no certificates gets the signed token all the same: OpenSSL verifies it with those it has (T2)', async () => {
    const query = await opensslQuery({ digest: randomHash(), cert: false });
    const reply = await postToDoor(service, query);
    const untrustedPem = await certificateChain('/api/v1/tsa/certchain');
    const given = { answer: reply.body, against: { query }, rootPem: tsa.pki.rootPem };
    expect((await opensslVerify({ ...given, untrustedPem })).output).toContain('Verification: OK');
    expect((await opensslVerify(given)).ok).toBe(false);
    // We gave it out, so we can tell of it (V2); what is changed in it is another token.
    const tokenId = reply.headers.get('qstamp-stamp-id');
    expect((await verifyRaw(service, reply.body.toString('base64'))).body).toMatchObject({ valid: true, token_id: tokenId });
    const changed = Buffer.from(reply.body);
    changed[changed.length - 1]! ^= 1;
    expect((await verifyRaw(service, changed.toString('base64'))).body).toMatchObject({ valid: false });
  });

  const imprintOf = (oid: string, digest: Buffer) => sequence(sequence(objectIdentifier(oid)), octetString(digest));
  const good = imprintOf(OID.sha256, random('sha256'));
  const extension = (critical: boolean) =>
    contextConstructed(0, sequence(objectIdentifier('2.999.1'), ...(critical ? [boolean(true)] : []), octetString(nullValue())));
  const refused: Readonly<Record<string, readonly [Buffer, string]>> = {
    'SHA-1': [imprintOf(OID.sha1, Buffer.alloc(20)), 'badAlg'],
    'an unknown algorithm': [imprintOf('2.999.5', Buffer.alloc(32)), 'badAlg'],
    'a digest of another length': [imprintOf(OID.sha256, Buffer.alloc(31)), 'badDataFormat'],
    'a policy that nobody serves': [Buffer.concat([good, objectIdentifier('2.999.7')]), 'unacceptedPolicy'],
    'a critical extension': [Buffer.concat([good, extension(true)]), 'unacceptedExtension'],
    // RFC 3161 §2.4.1: "whether it is marked critical or not".
    'an extension that is not critical': [Buffer.concat([good, extension(false)]), 'unacceptedExtension'],
    'a nonce of 65 octets': [Buffer.concat([good, integer(1n << 512n)]), 'badDataFormat'],
  };

  test.each(Object.entries(refused))(
    '%s is a rejection that says so, and no stamp (T2, RFC 3161 §2.4.2)',
    async (_name, [members, failure]) => {
      const reply = await postToDoor(service, sequence(integer(1), members));
      expect([reply.status, statusOf(reply)]).toEqual([200, `rejection ${failure}`]);
      expect(reply.headers.has('qstamp-stamp-id')).toBe(false);
      expect((await opensslReplyText(reply.body)).output).toContain('Status: Rejected.');
    },
  );

  test('of version 2 is a rejection that says so (T2)', async () => {
    expect(statusOf(await postToDoor(service, sequence(integer(2), good)))).toBe('rejection badRequest');
  });

  test('is told in HTTP what is no TimeStampReq, is too large, or of another type (T1)', async () => {
    const { der } = ask();
    const notMinimal = sequence(integer(1), good, Buffer.from([0x02, 0x02, 0x00, 0x01]));
    for (const body of [Buffer.alloc(0), Buffer.from('hello'), der.subarray(1), Buffer.concat([der, nullValue()]), notMinimal]) {
      expect((await postToDoor(service, body)).status).toBe(400);
    }
    expect((await postToDoor(service, Buffer.alloc(5000))).status).toBe(413);
    for (const type of ['application/json', 'text/plain']) {
      expect((await postToDoor(service, der, { headers: { 'content-type': type } })).status).toBe(415);
    }
    expect((await postToDoor(service, der, { headers: { 'content-encoding': 'gzip' } })).status).toBe(415);
    expect((await service.fetch('/tsa')).status).toBe(405);
    expect(statusOf(await postToDoor(service, der, { path: '/tsa', headers: { 'content-type': 'application/octet-stream' } }))).toBe(
      'granted',
    );
  });

  test('gets no token twice: each request is a stamp of its own', async () => {
    const { der } = ask({ digest: random('sha256') });
    const ids = (await Promise.all([postToDoor(service, der), postToDoor(service, der)])).map(({ headers }) =>
      headers.get('qstamp-stamp-id'),
    );
    expect(new Set(ids).size).toBe(2);
  });
});

test('whatever the bytes, the answer is a TimeStampResp or 400 (T1, V4)', async () => {
  const genuine = fc.record({
    hash: fc.constantFrom('sha256' as const, 'sha384' as const),
    certReq: fc.boolean(),
    policy: fc.constantFrom(undefined, DEVELOPMENT_POLICY),
  });
  const requests = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.tuple(genuine, mutations).map(([options, list]) => mutated(ask({ ...options }).der, list)),
  );
  await fc.assert(
    fc.asyncProperty(requests, async (body) => {
      const reply = await postToDoor(service, body);
      expect([200, 400, 413]).toContain(reply.status);
      if (reply.status === 200) expect(statusOf(reply)).toMatch(/^(granted|rejection \w+)$/);
    }),
    { numRuns: tries(5_000, 150) },
  );
});

describe('a TSA behind the door', () => {
  test('that fails is a rejection with systemFailure (T1, RFC 3161 §2.4.2)', async () => {
    tsa.server.failAlways(createFault('rejected'));
    expect(statusOf(await postToDoor(service, ask().der))).toBe('rejection systemFailure');
    tsa.server.failAlways(undefined);
    await eventually(async () => statusOf(await postToDoor(service, ask().der)) === 'granted');
  });

  test('that takes longer than the client waits is waiting, and the stamp can be read later (T1, E11)', async () => {
    const settings = { ...providersSettings([{ tsa }]), STAMP_WAIT_MS: '300' };
    const slow = await startService({ settings, workers: 0 });
    const reply = await postToDoor(slow, ask().der);
    expect([reply.status, statusOf(reply)]).toEqual([200, 'waiting']);
    expect(reply.headers.has('retry-after')).toBe(true);
    await slow.startWorker();
    await eventually(async () => (await verifyById(slow, reply.headers.get('qstamp-stamp-id'))).body.valid === true);
  });

  test('that refuses what a client no longer waits for ends it, and the address that was promised says so (T2, E11)', async () => {
    tsa.server.failAlways(createFault('refused:badAlg'));
    const slow = await startService({ settings: { ...providersSettings([{ tsa }]), STAMP_WAIT_MS: '300' }, workers: 0 });
    const reply = await postToDoor(slow, ask({ hash: 'sha512', digest: random('sha512') }).der);
    expect(statusOf(reply)).toBe('waiting');
    const tokenId = reply.headers.get('qstamp-stamp-id');
    await slow.startWorker();
    await eventually(async () => String((await verifyById(slow, tokenId)).body.reason).startsWith('request_refused: '));
    expect((await verifyById(slow, tokenId)).body).toMatchObject({ valid: false, token_id: tokenId, issued_at: null });
    const page = await slow.fetch(`/api/v1/verify/v1/token/${tokenId}`, { headers: { accept: 'text/html' } });
    expect(await page.text()).toMatch(/There is no stamp.*request_refused:/s);
    await eventually(async () => {
      const { body } = await getJson(slow, '/api/v1/status');
      return (body as { queue?: { depth?: number } }).queue?.depth === 0;
    });
    tsa.server.failAlways(undefined);
  });

  test('that takes no SHA-512 is a rejection with badAlg, and nobody can make it look broken by asking (T2)', async () => {
    tsa.server.failAlways(createFault('refused:badAlg'));
    const { der } = ask({ hash: 'sha512', digest: random('sha512') });
    for (let asked = 0; asked < 6; asked++) expect(statusOf(await postToDoor(service, der))).toBe('rejection badAlg');
    tsa.server.failAlways(undefined);
    expect((await stampInternal(service, { hash: randomHash() })).status).toBe(201);
    const { body } = await getJson(service, '/health/');
    expect(body).toMatchObject({ status: 'ok', checks: { provider: 'ok' } });
  });

  test('shows its certificates from the signer to the root', async () => {
    for (const path of ['/api/v1/tsa/certchain', '/api/v1/timestamp/certchain']) {
      const blocks = (await certificateChain(path)).match(/-----BEGIN CERTIFICATE-----\n[^-]+/g) ?? [];
      const ders = blocks.map((block) => Buffer.from(block.split('\n').slice(1).join(''), 'base64'));
      const { signer, intermediate, root } = tsa.pki;
      expect(ders).toEqual([signer, intermediate, root].map(({ certificate }) => certificate));
    }
  });
});

describe("sigstore's clients", () => {
  const post = (body: object | string) =>
    postToDoor(service, typeof body === 'string' ? body : JSON.stringify(body), {
      path: '/api/v1/timestamp',
      headers: { 'content-type': 'application/json' },
    });

  test('send JSON or DER, and get 201 (T5)', async () => {
    const digest = random('sha384');
    const text = `{"artifactHash":"${digest.toString('base64')}","hashAlgorithm":"sha384","certificates":true,"nonce":98765432109876543210987654321}`;
    const reply = await post(text);
    expect([reply.status, statusOf(reply)]).toEqual([201, 'granted']);
    const against = { query: ask({ hash: 'sha384', digest, nonce: 98765432109876543210987654321n }).der };
    expect((await opensslVerify({ answer: reply.body, against, rootPem: tsa.pki.rootPem })).output).toContain('Verification: OK');
    expect((await postToDoor(service, ask().der, { path: '/api/v1/timestamp' })).status).toBe(201);
  });

  test('are refused what is no request (T5)', async () => {
    const artifactHash = random('sha256').toString('base64');
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

  test('=token lets in who has a service token, as a password or a bearer token; its stamps are that product’s', async () => {
    const guarded = await startService({ settings: { ...service.settings, TSA_DOOR: 'token' }, workers: 0 });
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

  test('=token does not count who sends no token before it is asked for one, only wrong ones (R5, RFC 7617 §2)', async () => {
    const settings = { ...service.settings, TSA_DOOR: 'token', RATE_WRONG_TOKEN_PER_MINUTE: '2' };
    const guarded = await startService({ settings, workers: 0 });
    const statusesOf = async (headers: Record<string, string>) => {
      const statuses = [];
      for (let sent = 0; sent < 4; sent++) statuses.push((await postToDoor(guarded, der, { headers })).status);
      return statuses;
    };
    expect(await statusesOf({})).toEqual([401, 401, 401, 401]);
    expect(await statusesOf(basic('wrong'))).toEqual([401, 401, 429, 429]);
  });

  test('=off is no door, as in production until another is chosen', async () => {
    const closed = await startService({ settings: { ...service.settings, TSA_DOOR: 'off' }, workers: 0 });
    for (const path of ['/api/v1/tsa', '/tsa', '/api/v1/timestamp']) expect((await postToDoor(closed, der, { path })).status).toBe(404);
  });

  test('the mock provider cannot serve it: 503 with a sentence that names TSP=local (T6)', async () => {
    const mock = await startService({ workers: 0 });
    const reply = await postToDoor(mock, der);
    expect(reply.status).toBe(503);
    expect(reply.headers.has('retry-after')).toBe(true);
    expect(JSON.parse(String(reply.body))).toMatchObject({ code: 'tsa_unavailable', detail: expect.stringContaining('TSP=local') });
  });

  test('RATE_TSA_PER_MINUTE limits an address', async () => {
    const limited = await startService({ settings: { RATE_TSA_PER_MINUTE: '2' }, workers: 0 });
    const statuses = [];
    for (let sent = 0; sent < 3; sent++) statuses.push((await postToDoor(limited, der)).status);
    expect(statuses).toEqual([503, 503, 429]);
  });
});

test('a token without its certificates is what a TSA sends to who did not ask for them', async () => {
  const asked = ask({ certReq: false });
  const granted = await postToDoor(service, asked.der);
  const token = granted.body.subarray(granted.body.indexOf(objectIdentifier(OID.signedData)) - 4);
  expect(withoutCertificates(token)).toEqual(token);
});
