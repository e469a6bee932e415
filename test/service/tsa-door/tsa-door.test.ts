import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  boolean,
  contextConstructed,
  integer,
  nullValue,
  objectIdentifier,
  octetString,
  sequence,
} from '../../../src/shared/rfc3161/asn1/der-writer.ts';
import { createTrustStore, OID, verifyResponse, withoutCertificates } from '../../../src/shared/rfc3161/index.ts';
import { tries } from '../../support/depth.ts';
import { mutated, mutations } from '../../support/der-mutation.ts';
import { opensslQuery, opensslReplyText, opensslVerify } from '../../support/openssl-tsa.ts';
import { eventually, getJson, internalHeaders, randomHash, verifyById, verifyRaw } from '../../support/requests.ts';
import { certificateChain, postToDoor, randomDigest, statusOf } from '../../support/tsa-door.ts';
import { type AskOptions, ask } from '../../support/tsa-lab.ts';
import { sharedTsaService, tsaPolicy } from '../../support/tsa-service.ts';

const door = await sharedTsaService();

describe('a time-stamp client', () => {
  test('of OpenSSL gets a token that verifies against its own query; the stamp is stored and has a page (T1, T3)', async () => {
    const digest = randomHash();
    const query = await opensslQuery({ digest });
    const reply = await postToDoor(door.service, query);
    expect(reply.status).toBe(200);
    expect(statusOf(reply)).toBe('granted');
    const verdict = await opensslVerify({ answer: reply.body, against: { query }, rootPem: door.tsa.pki.rootPem });
    expect(verdict.output).toContain('Verification: OK');

    const tokenId = reply.headers.get('qstamp-stamp-id');
    expect(reply.headers.get('link')).toBe(`</api/v1/verify/v1/token/${tokenId}>; rel="describedby"`);
    expect((await verifyById(door.service, tokenId)).body).toMatchObject({ valid: true, content_sha256: digest, tsp_provider: 'tsa-1' });
    await eventually(async () => {
      const { body } = await getJson(door.service, '/api/v1/internal/stats/daily?days=1', internalHeaders);
      return (body as unknown as { caller_kind: string }[]).some(({ caller_kind }) => caller_kind === 'tsa');
    });
  });

  const trust = () =>
    createTrustStore({
      anchors: [door.tsa.pki.root.certificate],
      intermediates: [door.tsa.pki.intermediate.certificate, door.tsa.pki.signer.certificate],
    });
  const judge = (request: Buffer, answer: Buffer) =>
    verifyResponse(answer, { request, trust: trust(), sentAtMs: Date.now() - 30_000, receivedAtMs: Date.now(), nowMs: Date.now() });

  const requests: Readonly<Record<string, AskOptions>> = {
    'without a nonce': { nonce: undefined },
    'with nonce 0': { nonce: 0n },
    'with a nonce that begins with a zero octet': { nonce: 0x00ff_ffff_ffff_ffffn },
    'with a negative nonce': { nonce: -0x1122_3344_5566_7788n },
    'with a nonce of 64 octets': { nonce: BigInt(`0x7f${'ee'.repeat(63)}`) },
    'with the policy that is served': { policy: tsaPolicy },
    'with NULL parameters': { nullParameters: true },
    'of SHA-384': { hash: 'sha384', digest: randomDigest('sha384') },
    'of SHA-512': { hash: 'sha512', digest: randomDigest('sha512') },
    'that wants no certificates': { certReq: false },
  };

  test.each(Object.entries(requests))('%s gets exactly the requested answer (T2)', async (_name, options) => {
    const asked = ask({ digest: randomDigest('sha256'), ...options });
    const reply = await postToDoor(door.service, asked.der);
    expect(statusOf(reply)).toBe('granted');
    expect(await judge(asked.der, reply.body)).toMatchObject({ ok: true, nonce: asked.nonce });
    const sent = door.tsa.server.received.at(-1)!.body;
    // The TSA signs the client's own imprint: its algorithm identifier as written, with its parameters.
    const imprint = asked.der.subarray(5, asked.der.indexOf(asked.digest) + asked.digest.length);
    expect(sent.includes(imprint)).toBe(true);
    const hasCertificates = reply.body.includes(door.tsa.pki.signer.certificate);
    expect(hasCertificates).toBe(asked.certReq);

    const tokenId = reply.headers.get('qstamp-stamp-id');
    const { body } = await verifyById(door.service, tokenId);
    expect(body).toMatchObject({ valid: true, imprint: { algorithm: asked.hash, digest: asked.digest.toString('hex') } });
  });

  test('that wants no certificates still gets the signed token: OpenSSL verifies it with its own certificates (T2)', async () => {
    const query = await opensslQuery({ digest: randomHash(), cert: false });
    const reply = await postToDoor(door.service, query);
    const untrustedPem = await certificateChain(door.service, '/api/v1/tsa/certchain');
    const given = { answer: reply.body, against: { query }, rootPem: door.tsa.pki.rootPem };
    expect((await opensslVerify({ ...given, untrustedPem })).output).toContain('Verification: OK');
    expect((await opensslVerify(given)).ok).toBe(false);
    // We issued it, so we know it (V2); a changed token is another token.
    const tokenId = reply.headers.get('qstamp-stamp-id');
    expect((await verifyRaw(door.service, reply.body.toString('base64'))).body).toMatchObject({ valid: true, token_id: tokenId });
    const changed = Buffer.from(reply.body);
    changed[changed.length - 1]! ^= 1;
    expect((await verifyRaw(door.service, changed.toString('base64'))).body).toMatchObject({ valid: false });
  });

  const imprintOf = (oid: string, digest: Buffer) => sequence(sequence(objectIdentifier(oid)), octetString(digest));
  const good = imprintOf(OID.sha256, randomDigest('sha256'));
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
    '%s gives a rejection with its reason, and no stamp (T2, RFC 3161 §2.4.2)',
    async (_name, [members, failure]) => {
      const reply = await postToDoor(door.service, sequence(integer(1), members));
      expect([reply.status, statusOf(reply)]).toEqual([200, `rejection ${failure}`]);
      expect(reply.headers.has('qstamp-stamp-id')).toBe(false);
      expect((await opensslReplyText(reply.body)).output).toContain('Status: Rejected.');
    },
  );

  test('of version 2 gets a rejection with its reason (T2)', async () => {
    expect(statusOf(await postToDoor(door.service, sequence(integer(2), good)))).toBe('rejection badRequest');
  });

  test('gets an HTTP error for a body that is not a TimeStampReq, is too large, or has another type (T1)', async () => {
    const { der } = ask();
    const notMinimal = sequence(integer(1), good, Buffer.from([0x02, 0x02, 0x00, 0x01]));
    for (const body of [Buffer.alloc(0), Buffer.from('hello'), der.subarray(1), Buffer.concat([der, nullValue()]), notMinimal]) {
      expect((await postToDoor(door.service, body)).status).toBe(400);
    }
    expect((await postToDoor(door.service, Buffer.alloc(5000))).status).toBe(413);
    for (const type of ['application/json', 'text/plain']) {
      expect((await postToDoor(door.service, der, { headers: { 'content-type': type } })).status).toBe(415);
    }
    expect((await postToDoor(door.service, der, { headers: { 'content-encoding': 'gzip' } })).status).toBe(415);
    expect((await door.service.fetch('/tsa')).status).toBe(405);
    expect(statusOf(await postToDoor(door.service, der, { path: '/tsa', headers: { 'content-type': 'application/octet-stream' } }))).toBe(
      'granted',
    );
  });

  test('gets a new token each time: each request is a separate stamp', async () => {
    const { der } = ask({ digest: randomDigest('sha256') });
    const ids = (await Promise.all([postToDoor(door.service, der), postToDoor(door.service, der)])).map(({ headers }) =>
      headers.get('qstamp-stamp-id'),
    );
    expect(new Set(ids).size).toBe(2);
  });

  test('gets the certificates of the TSA from the signer to the root', async () => {
    for (const path of ['/api/v1/tsa/certchain', '/api/v1/timestamp/certchain']) {
      const blocks = (await certificateChain(door.service, path)).match(/-----BEGIN CERTIFICATE-----\n[^-]+/g) ?? [];
      const ders = blocks.map((block) => Buffer.from(block.split('\n').slice(1).join(''), 'base64'));
      const { signer, intermediate, root } = door.tsa.pki;
      expect(ders).toEqual([signer, intermediate, root].map(({ certificate }) => certificate));
    }
  });
});

test('gets a TimeStampResp or 400 for any bytes (T1, V4)', async () => {
  const genuine = fc.record({
    hash: fc.constantFrom('sha256' as const, 'sha384' as const),
    certReq: fc.boolean(),
    policy: fc.constantFrom(undefined, tsaPolicy),
  });
  const requests = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.tuple(genuine, mutations).map(([options, list]) => mutated(ask({ ...options }).der, list)),
  );
  await fc.assert(
    fc.asyncProperty(requests, async (body) => {
      const reply = await postToDoor(door.service, body);
      expect([200, 400, 413]).toContain(reply.status);
      if (reply.status === 200) expect(statusOf(reply)).toMatch(/^(granted|rejection \w+)$/);
    }),
    { numRuns: tries(5_000, 150) },
  );
});

test('without certReq, a TSA sends a token without certificates', async () => {
  const asked = ask({ certReq: false });
  const granted = await postToDoor(door.service, asked.der);
  const token = granted.body.subarray(granted.body.indexOf(objectIdentifier(OID.signedData)) - 4);
  expect(withoutCertificates(token)).toEqual(token);
});
