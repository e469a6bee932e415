import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import { issueResponse } from '../../src/shared/rfc3161/index.ts';
import { randomSerial } from '../../src/shared/runtime/random-octets.ts';
import { KEY_ALGORITHMS, type KeyAlgorithm, pem } from '../../src/tsa/certificate.ts';
import { createPki } from '../../src/tsa/pki.ts';
import { isLong } from '../support/depth.ts';
import { opensslQuery, opensslVerify } from '../support/openssl-tsa.ts';
import { FAULTY_CASES } from '../support/tsa-faults.ts';
import { createTsaLab, LAB_NOW_MS, type Specimen, type TsaLab } from '../support/tsa-lab.ts';
import { GOOD_VARIANTS } from '../support/tsa-variants.ts';

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
    const answer = issueResponse(profile, query, { timeMs: nowMs, serial: randomSerial() });
    const verified = await opensslVerify({ answer, against: { query }, rootPem: pki.rootPem });
    expect(verified.output).toContain('Verification: OK');

    const forAnother = { digest: createHash('sha256').update('another document').digest('hex') };
    expect(await opensslVerify({ answer, against: forAnother, rootPem: pki.rootPem })).toMatchObject({ ok: false });
    const otherRoot = createPki({ nowMs }).rootPem;
    expect(await opensslVerify({ answer, against: { query }, rootPem: otherRoot })).toMatchObject({ ok: false });
  });
});

function judge(specimen: Specimen) {
  return opensslVerify({
    answer: specimen.answer,
    against: specimen.withoutRequest ? { digest: specimen.asked.digest.toString('hex') } : { query: specimen.asked.der },
    rootPem: specimen.anchors.map((der) => pem('CERTIFICATE', der)).join(''),
    atTime: Math.floor(LAB_NOW_MS / 1000),
  });
}

/**
 * Faulty tokens that OpenSSL 3.0 accepts: encodings that are not DER, fields that it ignores, and lists that
 * it was not given. That is why agreement with it is not enough.
 */
const codesLetThrough = new Set<ReasonCode>([
  ...(['granted_with_mods', 'status_contradictory', 'cms_version', 'signer_certificate_ambiguous', 'certificate_revoked'] as const),
  ...(['der_length', 'der_too_large', 'der_too_deep', 'nonce_too_large', 'nonce_unexpected', 'intermediate_eku'] as const),
  ...(['tst_info_extension', 'gen_time_outside_window', 'gen_time_future', 'accuracy_malformed', 'serial_malformed'] as const),
  ...(['imprint_algorithm_unknown', 'content_type_attribute', 'signed_attribute_repeated', 'algorithm_protection_mismatch'] as const),
  ...(['unsigned_attribute', 'certificate_policy'] as const),
  ...(['key_too_weak', 'signature_algorithm_weak', 'signature_algorithm_unknown', 'signature_algorithm_mismatch'] as const),
]);
const namesLetThrough = new Set([
  ...['an octet after the end', 'a NULL after the end', 'octets after TSTInfo'],
  ...['a BOOLEAN that is neither 00 nor FF inside what is signed', 'signed attributes that are not in DER order'],
  ...['MD5', 'a purpose that nobody knows beside timeStamping'],
  ...FAULTY_CASES.filter(({ code, name }) => code === 'gen_time_malformed' && name !== 'genTime as UTCTime').map(({ name }) => name),
]);
const refusedByOpenssl = FAULTY_CASES.filter(({ code, name }) => !codesLetThrough.has(code) && !namesLetThrough.has(name));
/** Each needs a process: every third one, and all in the long run. */
const part = <T>(cases: readonly T[]): T[] => cases.filter((_, index) => isLong || index % 3 === 0);

describe('the lab tokens, verified by OpenSSL', () => {
  let lab: TsaLab;
  beforeAll(() => {
    lab = createTsaLab();
  });

  // OpenSSL reads a SignerInfo of PKCS#7, which has no subject key identifier.
  test.each(part(GOOD_VARIANTS.filter(({ name }) => !name.includes('subject key identifier'))))('accepted: $name', async ({ make }) => {
    expect((await judge(make(lab))).output).toContain('Verification: OK');
  });

  test.each(part(refusedByOpenssl))('refusal $refusal, $code: $name', async ({ make }) => {
    expect(await judge(make(lab))).toMatchObject({ ok: false });
  });
});
