import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { randomSerial } from '../../src/shared/runtime/random-octets.ts';
import { createPki, KEY_ALGORITHMS, type KeyAlgorithm } from '../support/certificates.ts';
import { opensslQuery, opensslVerify } from '../support/openssl-tsa.ts';
import { issueResponseWith } from '../support/tsa-seams.ts';

const digest = createHash('sha256').update('a document').digest('hex');
const nowMs = Date.now();

/** OpenSSL 3.0 does not support Ed25519 in PKCS#7 CMS, and accepts PSS from PSS-restricted keys only. */
const beyondOpenssl: readonly KeyAlgorithm[] = ['ed25519', 'rsa-pss-rsae'];
const withinOpenssl = KEY_ALGORITHMS.filter((algorithm) => !beyondOpenssl.includes(algorithm));

const POLICIES: [string, ...string[]] = ['1.2.3.4', '1.2.3.5'];

const pkis = Object.fromEntries(KEY_ALGORITHMS.map((algorithm) => [algorithm, createPki({ algorithm, nowMs })]));

const profileOf = (algorithm: KeyAlgorithm) => {
  const pki = pkis[algorithm]!;
  return { pki, profile: { identity: pki.signer, policies: POLICIES, includeTsaName: true } };
};

describe('our TSA, verified by OpenSSL', () => {
  test.each(withinOpenssl)('openssl ts -verify accepts a token of %s for its own query', async (algorithm) => {
    const { pki, profile } = profileOf(algorithm);
    const query = await opensslQuery({ digest, policy: '1.2.3.5' });
    const answer = issueResponseWith({}, profile, query, { timeMs: nowMs, serial: randomSerial() });
    const verified = await opensslVerify({ answer, against: { query }, rootPem: pki.rootPem });
    expect(verified.output).toContain('Verification: OK');

    const forAnother = { digest: createHash('sha256').update('another document').digest('hex') };
    expect(await opensslVerify({ answer, against: forAnother, rootPem: pki.rootPem })).toMatchObject({ ok: false });
    const otherRoot = createPki({ nowMs }).rootPem;
    expect(await opensslVerify({ answer, against: { query }, rootPem: otherRoot })).toMatchObject({ ok: false });
  });
});
