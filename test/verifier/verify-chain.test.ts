import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { nullValue, objectIdentifier, sequence, setOf, tlv, utf8String } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { directoryName } from '../../src/shared/rfc3161/issue/encode.ts';
import { SCHEMES, type SignatureScheme } from '../../src/shared/rfc3161/issue/sign.ts';
import { basicConstraints, extendedKeyUsage, extension, KEY_USAGE, keyUsage, type SigningKey } from '../../src/tsa/certificate.ts';
import { issueSigner } from '../../src/tsa/pki.ts';
import { below, ca, caUsage, FROM_MS, judgeRaw, lab, pathLength, tokenBy } from '../support/chain-lab.ts';

describe('which certificates may issue which (RFC 5280 §6)', () => {
  const root = ca(undefined, { name: 'Root' });

  it('a CA allows as many CAs below it as its pathLenConstraint says', async () => {
    const limited = ca(undefined, { name: 'Limited', extensions: [pathLength(1), caUsage] });
    const first = ca(limited, { name: 'First' });
    const second = ca(first, { name: 'Second' });
    expect(await judgeRaw(tokenBy(below(first)), { anchors: [limited.certificate] })).toMatchObject({ ok: true });
    expect(await judgeRaw(tokenBy(below(second)), { anchors: [limited.certificate] })).toMatchObject({ ok: false, code: 'chain_too_long' });
    const none = ca(root, { name: 'None', extensions: [pathLength(0), caUsage] });
    expect(await judgeRaw(tokenBy(below(none)), { anchors: [root.certificate] })).toMatchObject({ ok: true });
    expect(await judgeRaw(tokenBy(below(ca(none))), { anchors: [root.certificate] })).toMatchObject({ ok: false, code: 'chain_too_long' });
  });

  it('a certificate that a CA issued to itself does not count (RFC 5280 §6.1.4 (l))', async () => {
    const limited = ca(undefined, { name: 'Rollover', extensions: [pathLength(0), caUsage] });
    const renewed = ca(limited, { name: 'Rollover', serial: 8n });
    expect(await judgeRaw(tokenBy(below(renewed), [renewed.certificate]), { anchors: [limited.certificate] })).toMatchObject({ ok: true });
  });

  it('a root may lack basicConstraints if its key usage allows certifying', async () => {
    const old = ca(undefined, { name: 'Old root', extensions: [caUsage] });
    expect(await judgeRaw(tokenBy(below(old)), { anchors: [old.certificate] })).toMatchObject({ ok: true });
    const silent = ca(undefined, { name: 'Silent root', extensions: [] });
    expect(await judgeRaw(tokenBy(below(silent)), { anchors: [silent.certificate] })).toMatchObject({ ok: false, code: 'issuer_not_ca' });
  });

  it.each([
    ['basicConstraints are absent', [caUsage]],
    ['basicConstraints say that it is none', [basicConstraints(false), caUsage]],
    ['its key must not certify', [basicConstraints(true), keyUsage(KEY_USAGE.cRLSign, KEY_USAGE.digitalSignature)]],
  ])('an issuer is not a CA if %s', async (_name, extensions) => {
    const no = ca(root, { extensions });
    expect(await judgeRaw(tokenBy(below(no)), { anchors: [root.certificate] })).toMatchObject({ ok: false, code: 'issuer_not_ca' });
    // Configuration makes it trusted, but not a CA.
    expect(await judgeRaw(tokenBy(below(no)), { anchors: [no.certificate] })).toMatchObject({ ok: false, code: 'issuer_not_ca' });
  });

  it.each([1, 0])('an unsupported critical extension breaks the chain, in certificate %s of it', async (place) => {
    const unknown = [extension('2.999.30', true, sequence())];
    const top = ca(undefined, { name: 'Top', extensions: [basicConstraints(true), caUsage, ...(place === 0 ? unknown : [])] });
    const middle = ca(top, { name: 'Middle', extensions: [basicConstraints(true), caUsage, ...(place === 1 ? unknown : [])] });
    expect(await judgeRaw(tokenBy(below(middle)), { anchors: [top.certificate] })).toMatchObject({
      ok: false,
      code: 'certificate_extension',
    });
  });

  it('certificate policies may be critical, because the policy of a token is separate', async () => {
    const policies = extension('2.5.29.32', true, sequence(sequence(objectIdentifier('2.999.1'))));
    const strict = ca(root, { extensions: [basicConstraints(true), caUsage, policies] });
    expect(await judgeRaw(tokenBy(below(strict)), { anchors: [root.certificate] })).toMatchObject({ ok: true });
  });

  it('an extended key usage of the root counts too (41)', async () => {
    const other = ca(undefined, { extensions: [basicConstraints(true), caUsage, extendedKeyUsage([OID.serverAuth], false)] });
    expect(await judgeRaw(tokenBy(below(other)), { anchors: [other.certificate] })).toMatchObject({ ok: false, code: 'intermediate_eku' });
  });

  it('an intermediate without the signature of its issuer is not part of a chain', async () => {
    const middle = ca(root);
    const signer = below(middle);
    const bent = Buffer.from(middle.certificate);
    bent[bent.length - 1]! ^= 1;
    expect(await judgeRaw(tokenBy(signer, [bent]), { anchors: [root.certificate] })).toMatchObject({
      ok: false,
      code: 'chain_signature_invalid',
    });
  });

  it('a second purpose is refused, even if it is time-stamping again (39)', async () => {
    const signer = issueSigner(root, {
      nowMs: FROM_MS,
      extensions: () => [basicConstraints(false), extendedKeyUsage([OID.timeStamping, OID.timeStamping])],
    });
    expect(await judgeRaw(tokenBy(signer), { anchors: [root.certificate] })).toMatchObject({ ok: false, code: 'eku_other_purpose' });
  });
});

describe('names (RFC 5280 §7.1)', () => {
  const root = ca(undefined, { name: 'Root of the  World' });
  const organization = setOf(sequence(objectIdentifier(OID.organizationName), utf8String('QSTAMP development ')));
  const named = (text: Buffer) =>
    below({ ...root, subjectName: sequence(organization, setOf(sequence(objectIdentifier(OID.commonName), text))) });

  it('are equal in another string type, case and spacing', async () => {
    const signer = named(tlv(0x13, Buffer.from('root of the World')));
    expect(await judgeRaw(tokenBy(signer), { anchors: [root.certificate] })).toMatchObject({ ok: true });
  });

  it.each([
    ['another text', utf8String('Root of the Worlds')],
    ['no blank', utf8String('Rootof the World')],
    ['a type that is not folded', tlv(0x14, Buffer.from('root of the World'))],
  ])('are different in %s', async (_name, text) => {
    expect(await judgeRaw(tokenBy(named(text)), { anchors: [root.certificate] })).toMatchObject({ ok: false, code: 'untrusted_root' });
  });

  it('of the SID are compared octet for octet, because they are not signed', async () => {
    const { signer } = lab.pki;
    const upper = Buffer.from(signer.issuerName.toString('latin1').replace('Time', 'TIME'), 'latin1');
    const token = tokenBy(signer, signer.chain, { signer: (parts) => ({ ...parts, sid: sequence(upper, signer.serialNumber) }) });
    expect(await judgeRaw(token, { anchors: [lab.pki.root.certificate] })).toMatchObject({
      ok: false,
      code: 'signer_certificate_not_found',
    });
  });

  it('of the TSA must be those of the signer (45)', async () => {
    const { signer } = lab.pki;
    const upper = Buffer.from(signer.subjectName.toString('latin1').replace('TSA', 'tsa'), 'latin1');
    const token = tokenBy(signer, signer.chain, { fields: (fields) => ({ ...fields, tsa: directoryName(upper) }) });
    expect(await judgeRaw(token, { anchors: [lab.pki.root.certificate] })).toMatchObject({ ok: true });
  });
});

describe('weak links (46)', () => {
  const sha1Ca: SignatureScheme = {
    ...SCHEMES.rsaSha256,
    certificateAlgorithm: sequence(objectIdentifier(OID.sha1WithRsa), nullValue()),
    sign: (data, key) => sign('sha1', data, key),
  };
  const rsa = (modulusLength: number, scheme: SignatureScheme): SigningKey => ({
    ...generateKeyPairSync('rsa', { modulusLength }),
    scheme,
  });

  it('a CA that signs with SHA-1', async () => {
    const root = ca(undefined, { key: rsa(2048, sha1Ca) });
    expect(await judgeRaw(tokenBy(below(root)), { anchors: [root.certificate] })).toMatchObject({
      ok: false,
      code: 'signature_algorithm_weak',
    });
  });

  it('a root with an old SHA-1 and a new SHA-256 self-signature, because its own signature is not used', async () => {
    const key = rsa(2048, sha1Ca);
    const root = { ...ca(undefined, { key }), scheme: SCHEMES.rsaSha256 };
    expect(await judgeRaw(tokenBy(below(root)), { anchors: [root.certificate] })).toMatchObject({ ok: true });
  });

  it('a CA with an RSA key of 1 024 bits', async () => {
    const root = ca(undefined, { key: rsa(1024, SCHEMES.rsaSha256) });
    expect(await judgeRaw(tokenBy(below(root)), { anchors: [root.certificate] })).toMatchObject({ ok: false, code: 'key_too_weak' });
  });

  it.each([
    ['secp224r1', 'key_too_weak'],
    ['secp256k1', 'key_unknown'],
    ['brainpoolP512t1', 'key_unknown'],
  ] as const)('the curve %s: %s', async (namedCurve, code) => {
    const key = { ...generateKeyPairSync('ec', { namedCurve }), scheme: SCHEMES.ecdsaSha256 };
    expect(await judgeRaw(tokenBy(lab.signer({ key })), { anchors: [lab.pki.root.certificate] })).toMatchObject({ ok: false, code });
  });

  it('a curve given by parameters instead of a name', async () => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256', paramEncoding: 'explicit' });
    const key = { ...pair, scheme: SCHEMES.ecdsaSha256 };
    expect(await judgeRaw(tokenBy(lab.signer({ key })), { anchors: [lab.pki.root.certificate] })).toMatchObject({
      ok: false,
      code: 'key_too_weak',
    });
  });
});
