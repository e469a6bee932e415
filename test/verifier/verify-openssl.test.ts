import { createHash, randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import type { MessageImprint } from '../../src/shared/rfc3161/tsp/imprint.ts';
import { encodeRequest } from '../../src/shared/rfc3161/tsp/request.ts';
import type { VerifyResult } from '../../src/shared/rfc3161/tsp/types.ts';
import { verifyResponse, verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import { isLong } from '../support/depth.ts';
import {
  createOpensslTsa,
  OPENSSL_TSA_OTHER_POLICY,
  OPENSSL_TSA_POLICY,
  type OpensslTsa,
  type OpensslTsaOptions,
  opensslQuery,
} from '../support/openssl-tsa.ts';

/** Our request, OpenSSL's answer, our verifier: our code does not make the token. */

const opened: OpensslTsa[] = [];
afterAll(() => Promise.all(opened.map((tsa) => tsa.close())));

async function foreignTsa(options: OpensslTsaOptions): Promise<OpensslTsa> {
  const tsa = await createOpensslTsa(options);
  opened.push(tsa);
  return tsa;
}

function requestFor(algorithm: MessageImprint['algorithm'] = 'sha256', policy?: string): Buffer {
  const digest = createHash(algorithm).update('the document').digest();
  return encodeRequest({ imprint: { algorithm, digest }, nonce: randomBytes(8), policy });
}

async function exchange(tsa: OpensslTsa, request: Buffer): Promise<VerifyResult> {
  const sentAtMs = Date.now();
  const answer = await tsa.reply(request);
  const receivedAtMs = Date.now();
  const trust = createTrustStore({ anchors: [tsa.rootPem] });
  return verifyResponse(answer, { trust, nowMs: receivedAtMs, request, sentAtMs, receivedAtMs });
}

describe('a foreign TSA', () => {
  const settingsOf = {
    wholeChain: ['ess_cert_id_chain = yes'],
    name: ['tsa_name = yes'],
    exact: ['clock_precision_digits = 6', 'accuracy = secs:1, millisecs:500, microsecs:100', 'ordering = yes'],
  };
  /** Differences between TSAs, several in one; in the long run also each alone. */
  const together: [string, OpensslTsaOptions][] = [
    [
      'P-256 below an intermediate CA, the whole chain in the signing certificate attribute, its name, microseconds, accuracy and ordering',
      { intermediate: true, settings: Object.values(settingsOf).flat() },
    ],
    ['P-384 with SHA-384, ESSCertID of SHA-1', { keyType: 'p-384', signerDigest: 'sha384', essCertIdAlg: 'sha1' }],
    ['P-521 with SHA-512, ESSCertIDv2 of SHA-512', { keyType: 'p-521', signerDigest: 'sha512', essCertIdAlg: 'sha512' }],
    ['RSA with SHA-256', { keyType: 'rsa-2048' }],
  ];
  const alone: [string, OpensslTsaOptions][] = [
    ['P-256', {}],
    ['P-256 below an intermediate CA', { intermediate: true }],
    ['P-384 with SHA-384', { keyType: 'p-384', signerDigest: 'sha384' }],
    ['P-521 with SHA-512 below an intermediate CA', { keyType: 'p-521', signerDigest: 'sha512', intermediate: true }],
    ['RSA with SHA-512 below an intermediate CA', { keyType: 'rsa-2048', signerDigest: 'sha512', intermediate: true }],
    ['ESSCertID of SHA-1', { essCertIdAlg: 'sha1' }],
    ['ESSCertIDv2 of SHA-512', { essCertIdAlg: 'sha512' }],
    ['the whole chain in the signing certificate attribute', { intermediate: true, settings: settingsOf.wholeChain }],
    ['the name of the TSA', { settings: settingsOf.name }],
    ['microseconds, accuracy and ordering', { settings: settingsOf.exact }],
  ];

  it.each(isLong ? [...together, ...alone] : together)('is accepted: %s', async (_name, options) => {
    const tsa = await foreignTsa(options);
    const digests = ['sha256', 'sha384', 'sha512'] as const;
    for (const algorithm of isLong || tsa === opened[0] ? digests : digests.slice(-1)) {
      expect(await exchange(tsa, requestFor(algorithm))).toMatchObject({ ok: true, imprint: { algorithm }, policy: OPENSSL_TSA_POLICY });
    }
    const result = await exchange(tsa, requestFor('sha256', OPENSSL_TSA_OTHER_POLICY));
    expect(result).toMatchObject({ ok: true, policy: OPENSSL_TSA_OTHER_POLICY });
  });

  it('is accepted with a bare token, and without certificates if they are configured', async () => {
    const tsa = await foreignTsa({ intermediate: true });
    const digest = createHash('sha256').update('the document').digest();
    const token = await tsa.replyToken(requestFor());
    const expected = { algorithm: 'sha256', digest } as const;
    const trust = createTrustStore({ anchors: [tsa.rootPem] });
    expect(await verifyToken(token, { trust, nowMs: Date.now(), expected })).toMatchObject({ ok: true });

    const bare = await tsa.replyToken(await opensslQuery({ digest: digest.toString('hex'), cert: false }));
    expect(await verifyToken(bare, { trust, nowMs: Date.now(), expected })).toMatchObject({
      ok: false,
      code: 'signer_certificate_missing',
    });
    const full = createTrustStore({ anchors: [tsa.rootPem], intermediates: [tsa.signerPem + tsa.intermediatePem] });
    expect(await verifyToken(bare, { trust: full, nowMs: Date.now(), expected })).toMatchObject({ ok: true });
  });
});
