import { describe, expect, it } from 'vitest';
import { adviceOf, REASONS, type ReasonCode } from '../../src/shared/domain/reasons.ts';
import { UNCHECKED } from '../../src/shared/rfc3161/tsp/types.ts';
import { verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import { revocationLists } from '../support/tsa-faults-chain.ts';
import { createTsaLab, LAB_NOW_MS, type SpecimenOptions } from '../support/tsa-lab.ts';

const lab = createTsaLab();

async function verdictOf(options: SpecimenOptions & { expected?: Buffer } = {}) {
  const { answer, anchors, crls } = lab.specimen(options);
  const { expected } = options;
  const trust = createTrustStore({ anchors, crls });
  const result = await verifyToken(answer, {
    trust,
    nowMs: LAB_NOW_MS,
    ...(expected === undefined ? {} : { expected: { algorithm: 'sha256', digest: expected } }),
  });
  if (!result.ok) throw new Error(result.code);
  return result;
}

describe('the verdict on a good token', () => {
  it('states signer, policy, accuracy, chain and anchor', async () => {
    const { signer, chain, policy, accuracyMicroseconds, anchorFingerprint } = await verdictOf();
    expect(chain.map(({ subject }) => subject)).toEqual([
      'CN=Development TSA,O=qstamp development',
      'CN=Time-Stamping CA,O=qstamp development',
      'CN=Root CA,O=qstamp development',
    ]);
    expect(signer).toBe(chain[0]);
    expect(signer.issuer).toBe(chain[1]?.subject);
    expect(signer.serialHex).toMatch(/^[0-9a-f]{32}$/);
    expect(chain.map(({ der }) => der)).toEqual([lab.pki.signer, lab.pki.intermediate, lab.pki.root].map(({ certificate }) => certificate));
    for (const { notBefore, notAfter } of chain) {
      expect(notBefore.getTime()).toBeLessThan(LAB_NOW_MS);
      expect(notAfter.getTime()).toBeGreaterThan(LAB_NOW_MS);
    }
    expect(anchorFingerprint).toBe(chain.at(-1)?.fingerprint);
    expect({ policy, accuracyMicroseconds }).toEqual({ policy: '2.999.7.1', accuracyMicroseconds: 1_000_000n });
  });

  it('lists what was not checked, so that readers do not overrate it', async () => {
    expect((await verdictOf()).unchecked).toEqual(['imprint', 'revocation']);
    const { digest } = lab.specimen().asked;
    expect((await verdictOf({ expected: digest })).unchecked).toEqual(['revocation']);
    const crls = revocationLists(lab, LAB_NOW_MS, {});
    expect((await verdictOf({ expected: digest, crls })).unchecked).toEqual([]);
    // The list of the root alone does not cover the signer.
    expect((await verdictOf({ expected: digest, crls: crls.slice(1) })).unchecked).toEqual(['revocation']);
    const withUnusedParts: SpecimenOptions = {
      seams: {
        signer: (signer) => ({ ...signer, unsignedAttributes: [{ type: '2.999.3161.5', values: crls.slice(0, 1) }] }),
        token: (parts) => ({ ...parts, crls }),
      },
    };
    expect((await verdictOf({ ...withUnusedParts, expected: digest, crls })).unchecked).toEqual(['revocation_data', 'unsigned_attributes']);
  });

  it('has a sentence for each code', () => {
    for (const sentence of Object.values(UNCHECKED)) expect(sentence).toMatch(/^[A-Z].*\.$/);
  });
});

describe('a reason that its reader can do something about', () => {
  it('has one sentence that says what to do', () => {
    const codes = (Object.keys(REASONS) as ReasonCode[]).filter((code) => adviceOf(code) !== undefined);
    expect(codes).toEqual([
      'imprint_algorithm_unknown',
      'imprint_algorithm_weak',
      'signing_certificate_hash_unknown',
      'key_too_weak',
      'signature_algorithm_weak',
      'key_unknown',
      'signature_algorithm_unknown',
      'evidence_hash_needed',
      'evidence_new_hash_needed',
    ]);
    for (const code of codes)
      expect(adviceOf(code)).toMatch(
        /^(Have the document stamped again|Verify it together with its file|It may be valid: a verifier that knows).*\.$/,
      );
  });
});
