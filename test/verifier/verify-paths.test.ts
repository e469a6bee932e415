import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { octetString, sequence } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { directoryName } from '../../src/shared/rfc3161/issue/encode.ts';
import type { SigningIdentity } from '../../src/shared/rfc3161/issue/issue.ts';
import type { VerifyResult } from '../../src/shared/rfc3161/tsp/types.ts';
import { verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import { generateSigningKey, issueRoot, issueSigner } from '../support/certificates.ts';
import { below, ca, FROM_MS, judgeRaw, lab, tokenBy } from '../support/chain-lab.ts';
import { DAY_MS, LAB_NOW_MS } from '../support/tsa-lab.ts';

describe('several paths to an anchor', () => {
  const rootKey = generateSigningKey('p-256');
  const root = ca(undefined, { key: rootKey, name: 'Root' });
  const oldRoot = ca(undefined, { name: 'Old root' });
  const key = generateSigningKey('p-256');
  const good = ca(root, { key, name: 'Twice certified' });
  const expired = ca(oldRoot, { key, name: 'Twice certified', notAfterMs: LAB_NOW_MS - DAY_MS });
  const signer = below(good);
  const anchors = [oldRoot.certificate, root.certificate];

  it.each([
    ['first', [expired.certificate, good.certificate]],
    ['last', [good.certificate, expired.certificate]],
  ])('one valid path is enough if the invalid one comes %s', async (_name, certificates) => {
    const result = await judgeRaw(tokenBy(signer, certificates), { anchors });
    expect(result).toMatchObject({ ok: true, anchorFingerprint: createTrustStore({ anchors: [root.certificate] }).anchorFingerprints[0] });
  });

  it.each([
    ['above it', [expired.certificate, root.certificate], [good.certificate]],
    ['beside it', [expired.certificate, good.certificate], []],
  ])('an expired trust anchor does not stop the search if there is another one %s', async (_name, trusted, certificates) => {
    expect(await judgeRaw(tokenBy(signer, certificates), { anchors: trusted })).toMatchObject({ ok: true });
  });

  it('an invalid path does not count (43)', async () => {
    expect(await judgeRaw(tokenBy(signer, [expired.certificate]), { anchors })).toMatchObject({
      ok: false,
      code: 'certificate_not_valid_at_gen_time',
    });
  });

  it('a root with a new key is distinguished from the old one with the same name', async () => {
    const renewed = ca(undefined, { name: 'Root' });
    expect(await judgeRaw(tokenBy(signer, [good.certificate]), { anchors: [renewed.certificate, root.certificate] })).toMatchObject({
      ok: true,
    });
  });

  it('a CA or the signer itself may be the anchor', async () => {
    expect(await judgeRaw(tokenBy(signer, [good.certificate]), { anchors: [good.certificate] })).toMatchObject({ ok: true });
    const pinned = await judgeRaw(tokenBy(signer, []), { anchors: [signer.certificate] });
    expect(pinned).toMatchObject({ ok: true, chain: [{ der: signer.certificate }] });
  });

  it('CAs that certified each other give no path, and the search ends', async () => {
    const [oneKey, otherKey] = [generateSigningKey('p-256'), generateSigningKey('p-256')];
    const one = ca(ca(undefined, { name: 'Other', key: otherKey }), { name: 'One', key: oneKey });
    const other = ca(ca(undefined, { name: 'One', key: oneKey }), { name: 'Other', key: otherKey });
    expect(await judgeRaw(tokenBy(below(one), [one.certificate, other.certificate]), { anchors })).toMatchObject({
      ok: false,
      code: 'untrusted_root',
    });
  });

  it('thirty CAs of one name and one key cost a bounded number of signature checks', async () => {
    const many = Array.from({ length: 30 }, (_, i) => ca(root, { key, name: 'Twice certified', serial: BigInt(i + 100) }).certificate);
    const looping = many.map((_, i) => ca({ ...good, chain: [] }, { key, name: 'Twice certified', serial: BigInt(i + 200) }).certificate);
    expect(await judgeRaw(tokenBy(signer, looping), { anchors: [oldRoot.certificate] })).toMatchObject({ ok: false });
    expect(await judgeRaw(tokenBy(signer, many), { anchors: [root.certificate] })).toMatchObject({ ok: true });
    expect(await judgeRaw(tokenBy(signer, [...many, ...many]), { anchors })).toMatchObject({ ok: true });
  });
});

describe('the cache', () => {
  it('checks a known chain again at each genTime (V5)', async () => {
    const root = ca(undefined, { name: 'Root' });
    const signer = issueSigner(root, { nowMs: FROM_MS, notAfterMs: LAB_NOW_MS + 1000 });
    const trust = createTrustStore({ anchors: [root.certificate] });
    const at = (timeMs: number) =>
      verifyToken(lab.specimen({ profile: { identity: signer }, timeMs }).answer, { trust, nowMs: LAB_NOW_MS + 2 * DAY_MS });
    expect(await at(LAB_NOW_MS)).toMatchObject({ ok: true });
    expect(await at(LAB_NOW_MS + 60_000)).toMatchObject({ ok: false, code: 'certificate_not_valid_at_gen_time' });
    expect(await at(FROM_MS - 2 * DAY_MS)).toMatchObject({ ok: false, code: 'certificate_not_valid_at_gen_time' });
    expect(await at(LAB_NOW_MS)).toMatchObject({ ok: true });
  });

  it('does not use certificates from one token for another', async () => {
    const trust = createTrustStore({ anchors: [lab.pki.root.certificate] });
    const full = lab.specimen().answer;
    const bare = tokenBy(lab.pki.signer, []);
    for (const [token, ok] of [
      [bare, false],
      [full, true],
      [bare, false],
      [full, true],
    ] as const) {
      expect(await verifyToken(token, { trust, nowMs: LAB_NOW_MS })).toMatchObject({ ok });
    }
  });

  it('leaves a store unchanged if its input bytes or a verified answer change later', async () => {
    const anchor = Buffer.from(lab.pki.root.certificate);
    const trust = createTrustStore({ anchors: [anchor] });
    const answer = lab.specimen().answer;
    anchor.fill(0);
    expect(await verifyToken(answer, { trust, nowMs: LAB_NOW_MS })).toMatchObject({ ok: true });
    answer.fill(0);
    expect(await verifyToken(lab.specimen().answer, { trust, nowMs: LAB_NOW_MS })).toMatchObject({ ok: true });
  });
});

describe('validity to the microsecond (43)', () => {
  const endMs = Math.floor(LAB_NOW_MS / 1000) * 1000;
  const root = issueRoot({ algorithm: 'p-256', nowMs: FROM_MS });
  const until = issueSigner(root, { nowMs: FROM_MS, notAfterMs: endMs });
  const from = issueSigner(root, { nowMs: FROM_MS, notBeforeMs: endMs });
  const at = async (identity: SigningIdentity, genTime: string) =>
    (await judgeRaw(tokenBy(identity, [], { fields: (fields) => ({ ...fields, genTime }) }), { anchors: [root.certificate] })).ok;

  it.each([
    ['the last moment of the signer', until, '20261121120000Z', true],
    ['a microsecond later', until, '20261121120000.000001Z', false],
    ['the first moment of the signer', from, '20261121120000Z', true],
    ['a microsecond earlier', from, '20261121115959.999999Z', false],
  ] as const)('%s', async (_name, identity, genTime, ok) => {
    expect(await at(identity, genTime)).toBe(ok);
  });
});

describe('further certificates of the signing certificate attribute (RFC 5035 §3)', () => {
  const { signer, intermediate, root } = lab.pki;
  const id = (identity: SigningIdentity) =>
    sequence(
      octetString(createHash('sha256').update(identity.certificate).digest()),
      sequence(sequence(directoryName(identity.issuerName)), identity.serialNumber),
    );
  const naming = (...named: readonly SigningIdentity[]): Promise<VerifyResult> =>
    judgeRaw(
      tokenBy(signer, signer.chain, {
        attributes: (attributes) =>
          attributes.map((one) =>
            one.type === OID.signingCertificateV2 ? { ...one, values: [sequence(sequence(...named.map(id)))] } : one,
          ),
      }),
      { anchors: [root.certificate] },
    );

  it('may be those of the chain, with or without the anchor', async () => {
    expect(await naming(signer, intermediate)).toMatchObject({ ok: true });
    expect(await naming(signer, intermediate, root)).toMatchObject({ ok: true });
  });

  it('need not all be used or available', async () => {
    expect(await naming(signer, intermediate, lab.signer())).toMatchObject({ ok: true });
    // It could be an attribute certificate, which limits no path.
    expect(await naming(signer, lab.signer())).toMatchObject({ ok: true });
  });

  it('limit the chain to these certificates', async () => {
    expect(await naming(signer, root)).toMatchObject({ ok: false, code: 'signing_certificate_hash_mismatch' });
    expect(await naming(intermediate, signer)).toMatchObject({ ok: false, code: 'signing_certificate_hash_mismatch' });
  });
});
