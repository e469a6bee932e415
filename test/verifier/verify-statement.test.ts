import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { contextConstructed, nullValue, sequence } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import type { ResponseContext, TokenContext } from '../../src/shared/rfc3161/tsp/types.ts';
import { verifyResponse, verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore, type TrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import { extension } from '../support/certificates.ts';
import { moreCertificates } from '../support/tsa-changes.ts';
import { ask, createTsaLab, LAB_NOW_MS, LAB_POLICY, type SpecimenOptions } from '../support/tsa-lab.ts';
import type { Seams } from '../support/tsa-seams.ts';

const lab = createTsaLab();
const trust = createTrustStore({ anchors: [lab.pki.root.certificate] });

function fresh(options: SpecimenOptions, context: Partial<ResponseContext> = {}) {
  const { answer, asked } = lab.specimen(options);
  const times = { nowMs: LAB_NOW_MS, sentAtMs: LAB_NOW_MS, receivedAtMs: LAB_NOW_MS };
  return verifyResponse(answer, { trust, request: asked.der, ...times, ...context });
}

function raw(options: SpecimenOptions, context: Partial<TokenContext> = {}) {
  return verifyToken(lab.specimen(options).answer, { trust, nowMs: LAB_NOW_MS, ...context });
}

describe('the statement of a good token', () => {
  it('is returned to the last digit', async () => {
    const statement: SpecimenOptions = {
      profile: { ordering: true, accuracy: { seconds: 1, millis: 2, micros: 3 } },
      seams: { fields: (fields) => ({ ...fields, genTime: '20261121120000.1234567Z', serial: (1n << 160n) - 1n }) },
    };
    expect(await fresh(statement)).toMatchObject({
      ok: true,
      genTime: new Date('2026-11-21T12:00:00.123Z'),
      genTimeText: '20261121120000.1234567Z',
      genTimeMicroseconds: BigInt(Date.UTC(2026, 10, 21, 12)) * 1000n + 123_456n,
      accuracyMicroseconds: 1_002_003n,
      serial: '1461501637330902918203684832716283019655932542975',
      policy: LAB_POLICY,
      imprint: { algorithm: 'sha256', digest: ask().digest },
      nonce: ask().nonce,
      ordering: true,
      grantedWithMods: false,
      signer: {
        subject: 'CN=Development TSA,O=qstamp development',
        issuer: 'CN=Time-Stamping CA,O=qstamp development',
        fingerprint: createHash('sha256').update(lab.pki.signer.certificate).digest('hex'),
      },
    });
  });

  it('contains extensions that are not critical, and a certificate of another form as unchecked', async () => {
    const extensions = [extension('2.999.1', false, nullValue())];
    const fields: Seams['fields'] = (good) => ({ ...good, extensions });
    expect(await raw({ seams: { fields } })).toMatchObject({ ok: true, extensions: [{ type: '2.999.1', value: nullValue() }] });
    for (const choice of [0, 1, 2, 3]) {
      const other = moreCertificates(contextConstructed(choice, sequence()));
      expect(await raw(other)).toMatchObject({ ok: true, unchecked: expect.arrayContaining(['other_certificates']) });
    }
  });

  it('is read in place from a larger buffer, which is not written to', async () => {
    const { answer } = lab.specimen();
    const padded = new Uint8Array(answer.length + 20);
    padded.set(answer, 10);
    const before = Buffer.from(padded);
    expect(await verifyToken(padded.subarray(10, -10), { trust, nowMs: LAB_NOW_MS })).toMatchObject({ ok: true });
    expect(await verifyToken(padded, { trust, nowMs: LAB_NOW_MS })).toMatchObject({ ok: false });
    expect(Buffer.from(padded)).toEqual(before);
  });

  it('contains the TimeStampToken of the answer, which verifies alone', async () => {
    const result = await fresh({});
    if (!result.ok) throw new Error(result.code);
    expect(await verifyToken(result.token, { trust, nowMs: LAB_NOW_MS })).toMatchObject({ ok: true, serial: result.serial });
  });
});

describe('genTime and the clock (22, 23)', () => {
  const MINUTE_MS = 60_000;
  it.each([
    ['in the middle of the request', 0, true],
    ['a minute and the accuracy before it was sent', -MINUTE_MS - 1000, true],
    ['a little more than that', -MINUTE_MS - 1001, 'gen_time_outside_window'],
    ['a minute after it was answered', 5000 + MINUTE_MS, true],
    ['a little more than that', 5001 + MINUTE_MS, 'gen_time_future'],
  ] as const)('%s', async (_name, offsetMs, expected) => {
    const receivedAtMs = LAB_NOW_MS + 5000;
    const result = await fresh({ timeMs: LAB_NOW_MS + offsetMs }, { receivedAtMs, nowMs: receivedAtMs });
    expect(result).toMatchObject(expected === true ? { ok: true } : { ok: false, code: expected });
  });

  it('an answer that is verified later must still match the time of its request', async () => {
    const later = { nowMs: LAB_NOW_MS + 3_600_000 };
    expect(await fresh({}, later)).toMatchObject({ ok: true });
    expect(await fresh({ timeMs: LAB_NOW_MS + 600_000 }, later)).toMatchObject({ ok: false, code: 'gen_time_outside_window' });
  });

  it('the caller sets the tolerance', async () => {
    expect(await fresh({ timeMs: LAB_NOW_MS - 2001 }, { clockToleranceMs: 1000 })).toMatchObject({
      ok: false,
      code: 'gen_time_outside_window',
    });
    expect(await fresh({ timeMs: LAB_NOW_MS - 2000 }, { clockToleranceMs: 1000 })).toMatchObject({ ok: true });
    expect(await raw({ timeMs: LAB_NOW_MS + 1 }, { clockToleranceMs: 0 })).toMatchObject({ ok: false, code: 'gen_time_future' });
    expect(await raw({}, { clockToleranceMs: 0 })).toMatchObject({ ok: true });
  });

  it('the accuracy may be as coarse as allowed, and no coarser', async () => {
    const accuracy = { profile: { accuracy: { seconds: 2, millis: 500 } } };
    expect(await fresh(accuracy, { maxAccuracySeconds: 2.5 })).toMatchObject({ ok: true });
    expect(await fresh(accuracy, { maxAccuracySeconds: 2 })).toMatchObject({ ok: false, code: 'accuracy_too_coarse' });
  });

  it('the accuracy may be absent only if the TSA policy has an acceptable one', async () => {
    const none: SpecimenOptions = { seams: { fields: (fields) => ({ ...fields, accuracy: undefined }) } };
    expect(await fresh(none)).toMatchObject({ ok: true });
    expect(await fresh(none, { maxAccuracySeconds: 60 })).toMatchObject({ ok: false, code: 'accuracy_too_coarse' });
    expect(await fresh(none, { maxAccuracySeconds: 60, policyAccuracySeconds: 60 })).toMatchObject({ ok: true });
    expect(await fresh(none, { maxAccuracySeconds: 60, policyAccuracySeconds: 61 })).toMatchObject({
      ok: false,
      code: 'accuracy_too_coarse',
    });
  });

  it('an accuracy widens the window by at most a minute', async () => {
    const vague = (timeMs: number) => fresh({ timeMs, profile: { accuracy: { seconds: 1_000_000_000 } } });
    expect(await vague(LAB_NOW_MS - 2 * MINUTE_MS)).toMatchObject({ ok: true });
    expect(await vague(LAB_NOW_MS - 2 * MINUTE_MS - 1)).toMatchObject({ ok: false, code: 'gen_time_outside_window' });
  });

  it('a coarse accuracy does not let genTime lie in the future', async () => {
    const result = await raw({ timeMs: LAB_NOW_MS + 3_600_000, profile: { accuracy: { seconds: 7200 } } });
    expect(result).toMatchObject({ ok: false, code: 'gen_time_future' });
  });
});

describe('the hash beside a raw token (15–16)', () => {
  const digest = createHash('sha256').update('the document').digest();
  it.each([
    ['the same', { algorithm: 'sha256', digest }, true],
    ['another', { algorithm: 'sha256', digest: Buffer.alloc(32) }, 'imprint_mismatch'],
    ['one cut short', { algorithm: 'sha256', digest: digest.subarray(1) }, 'imprint_mismatch'],
    ['of another algorithm', { algorithm: 'sha512', digest: Buffer.alloc(64) }, 'imprint_algorithm_mismatch'],
  ] as const)('%s', async (_name, expected, outcome) => {
    expect(await raw({}, { expected })).toMatchObject(outcome === true ? { ok: true } : { ok: false, code: outcome });
  });
});

describe('grantedWithMods (4)', () => {
  const withMods: SpecimenOptions = { seams: { response: (parts) => ({ ...parts, status: 1 }) } };

  it('is accepted only if the caller allows it, and is then reported', async () => {
    for (const judge of [fresh, raw]) {
      expect(await judge(withMods)).toMatchObject({ ok: false, code: 'granted_with_mods' });
      expect(await judge(withMods, { acceptGrantedWithMods: true })).toMatchObject({ ok: true, grantedWithMods: true });
    }
  });

  it('never applies to the request: nonce, imprint and policy stay', async () => {
    const bent: SpecimenOptions = {
      ...withMods,
      ask: { policy: LAB_POLICY },
      seams: { ...withMods.seams, fields: (fields) => ({ ...fields, policy: '2.999.9' }) },
    };
    expect(await fresh(bent, { acceptGrantedWithMods: true })).toMatchObject({ ok: false, code: 'policy_mismatch' });
  });
});

describe('a rejection has a reason', () => {
  it('with the failure and the quoted text of the TSA', async () => {
    const result = await fresh({ seams: { response: () => ({ status: 2, failInfo: [2, 15], statusText: 'no "such"\n policy' }) } });
    expect(result).toMatchObject({
      ok: false,
      code: 'not_granted',
      detail: 'The status is rejection (2), badRequest, unacceptedPolicy, "no \\"such\\"\\n policy".',
    });
  });
});

describe('a defect of the verifier', () => {
  it('is a refusal with its cause, never an exception', async () => {
    const cause = new TypeError('a defect');
    const broken: TrustStore = {
      ...trust,
      certificateOf: () => {
        throw cause;
      },
    };
    expect(await raw({}, { trust: broken })).toMatchObject({ ok: false, code: 'verifier_failed', detail: expect.any(String), cause });
  });
});
