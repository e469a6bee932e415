import { createHash, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { type Attribute, directoryName, encodeSigningCertificateV2 } from '../../src/shared/rfc3161/issue/encode.ts';
import type { SigningIdentity } from '../../src/shared/rfc3161/issue/issue.ts';
import { verifyToken } from '../../src/shared/rfc3161/tsp/verify.ts';
import { digestIdentifier } from '../../src/shared/rfc3161/x509/digests.ts';
import { createTrustStore } from '../../src/shared/rfc3161/x509/trust-store.ts';
import { basicConstraints, extendedKeyUsage, keyIdentifier, subjectKeyIdentifier } from '../../src/tsa/certificate.ts';
import { encoded, type MutableDer, mutableOf } from '../support/der-mutation.ts';
import { judge } from '../support/judge.ts';
import { createTsaLab, LAB_NOW_MS } from '../support/tsa-lab.ts';
import type { Seams } from '../support/tsa-seams.ts';

/** Attacks outside the list of refusals: two truths in one token, and forms that others do not check. */

const lab = createTsaLab();
const { signer } = lab.pki;
const other = lab.signer();
const given = (seams: Seams) => judge(lab.specimen({ seams }));
const attributes = (change: (list: readonly Attribute[]) => readonly Attribute[]) => given({ attributes: change });
const refused = (code: string) => ({ ok: false, code });
const accepted = { ok: true };

const sha = (name: 'sha1' | 'sha256', data: Buffer) => createHash(name).update(data).digest();
const v1Of = ({ certificate }: SigningIdentity): Attribute => ({
  type: OID.signingCertificate,
  values: [der.sequence(der.sequence(der.sequence(der.octetString(sha('sha1', certificate)))))],
});
const v2Of = ({ certificate, issuerName, serialNumber }: SigningIdentity): Attribute => ({
  type: OID.signingCertificateV2,
  values: [encodeSigningCertificateV2(sha('sha256', certificate), issuerName, serialNumber)],
});
const without = (list: readonly Attribute[], type: string) => list.filter((attribute) => attribute.type !== type);

describe('two signing certificate attributes (RFC 5035 §3)', () => {
  it('must both name the signer', async () => {
    expect(await attributes((list) => [...list, v1Of(signer)])).toMatchObject(accepted);
    expect(await attributes((list) => [...list, v1Of(other)])).toMatchObject(refused('signing_certificate_hash_mismatch'));
    expect(await attributes((list) => [...without(list, OID.signingCertificateV2), v1Of(signer), v2Of(other)])).toMatchObject(
      refused('signing_certificate_hash_mismatch'),
    );
  });

  it('of one kind are refused, and so are two values', async () => {
    expect(await attributes((list) => [...list, v2Of(other)])).toMatchObject(refused('signed_attribute_repeated'));
    const both = { ...v2Of(signer), values: [...v2Of(signer).values, ...v2Of(other).values] };
    expect(await attributes((list) => [...without(list, OID.signingCertificateV2), both])).toMatchObject(
      refused('signing_certificate_missing'),
    );
  });

  it('of version 1 cannot name another hash', async () => {
    const long = {
      ...v1Of(signer),
      values: [der.sequence(der.sequence(der.sequence(der.octetString(sha('sha256', signer.certificate)))))],
    };
    expect(await attributes((list) => [...without(list, OID.signingCertificateV2), long])).toMatchObject(
      refused('signing_certificate_hash_mismatch'),
    );
  });
});

describe('issuerSerial (35)', () => {
  it('names one issuer by its directory name', async () => {
    const naming = (...names: readonly Buffer[]) => {
      const issuerSerial = der.sequence(der.sequence(...names), signer.serialNumber);
      const id = der.sequence(der.octetString(sha('sha256', signer.certificate)), issuerSerial);
      const attribute = { type: OID.signingCertificateV2, values: [der.sequence(der.sequence(id))] };
      return attributes((list) => [...without(list, OID.signingCertificateV2), attribute]);
    };
    const issuer = directoryName(signer.issuerName);
    expect(await naming(issuer)).toMatchObject(accepted);
    for (const names of [[], [issuer, directoryName(other.subjectName)], [der.contextPrimitive(2, Buffer.from('tsa.example'))]]) {
      expect(await naming(...names)).toMatchObject(refused('signing_certificate_issuer_mismatch'));
    }
  });
});

describe('protected algorithms (RFC 6211)', () => {
  const protection = (digest: Buffer, signature: Buffer): Attribute => ({
    type: OID.cmsAlgorithmProtection,
    values: [der.sequence(digest, der.retag(0xa1, signature))],
  });
  it('are accepted if they are the ones used, and refused otherwise', async () => {
    const { cmsAlgorithm } = signer.scheme;
    const sha256 = digestIdentifier('sha256');
    expect(await attributes((list) => [...list, protection(sha256, cmsAlgorithm)])).toMatchObject(accepted);
    expect(await attributes((list) => [...list, protection(digestIdentifier('sha512'), cmsAlgorithm)])).toMatchObject(
      refused('algorithm_protection_mismatch'),
    );
    expect(await attributes((list) => [...list, protection(sha256, der.sequence(der.objectIdentifier(OID.ed25519)))])).toMatchObject(
      refused('algorithm_protection_mismatch'),
    );
    const right = protection(sha256, cmsAlgorithm).values;
    const twice = { type: OID.cmsAlgorithmProtection, values: [...right, der.sequence(sha256)] };
    expect(await attributes((list) => [...list, twice])).toMatchObject(refused('algorithm_protection_mismatch'));
    const empty = { type: OID.cmsAlgorithmProtection, values: [] };
    expect(await attributes((list) => [...list, empty])).toMatchObject(refused('algorithm_protection_mismatch'));
    const withoutSignature = { type: OID.cmsAlgorithmProtection, values: [der.sequence(sha256)] };
    expect(await attributes((list) => [...list, withoutSignature])).toMatchObject(refused('algorithm_protection_mismatch'));
  });
});

describe('the signer named by its key identifier (31)', () => {
  const key = { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }), scheme: signer.scheme };
  const skiOf = (serial: bigint) =>
    lab.signer({
      key,
      serial,
      extensions: (publicKey) => [basicConstraints(false), extendedKeyUsage([OID.timeStamping]), subjectKeyIdentifier(publicKey)],
    });
  const [one, two] = [skiOf(11n), skiOf(12n)];
  const named = (version: number, certificates: readonly Buffer[]) =>
    judge(
      lab.specimen({
        profile: { identity: one },
        seams: {
          signer: (parts) => ({ ...parts, version, sid: der.contextPrimitive(0, keyIdentifier(key.publicKey)) }),
          token: (parts) => ({ ...parts, certificates: [...parts.certificates, ...certificates] }),
        },
      }),
    );

  it('is found, whatever the version says, unless two certificates have the identifier', async () => {
    expect(await named(3, [])).toMatchObject(accepted);
    expect(await named(3, [one.certificate])).toMatchObject(accepted);
    expect(await named(3, [two.certificate])).toMatchObject(refused('signer_certificate_ambiguous'));
    expect(await named(1, [])).toMatchObject(accepted);
  });
});

it('accepts a SignerInfo of any version, because nobody signs the number', async () => {
  const of = (version: number) => judge(lab.specimen({ seams: { signer: (parts) => ({ ...parts, version }) } }));
  for (const version of [1, 2, 0, 3, 4, -2]) expect(await of(version), String(version)).toMatchObject(accepted);
});

describe('SignedData (RFC 5652 §5.1)', () => {
  it('is of any version, because nobody signs the number', async () => {
    const ocsp = der.contextConstructed(1, der.objectIdentifier('1.3.6.1.5.5.7.16.2'), der.sequence());
    const of = (version: number, crls: readonly Buffer[]) => given({ token: (parts) => ({ ...parts, version, crls }) });
    for (const version of [0, 1, 3, 4, 5, -3]) {
      expect(await of(version, []), String(version)).toMatchObject(accepted);
      expect(await of(version, [ocsp]), String(version)).toMatchObject(accepted);
    }
  });

  const holding = (version: number, ...certificates: readonly Buffer[]) =>
    given({ token: (parts) => ({ ...parts, version, certificates: [...parts.certificates, ...certificates] }) });

  it.each([
    ['an extendedCertificate', 0],
    ['an attribute certificate of version 1', 1],
    ['an attribute certificate of version 2', 2],
    ['a certificate of another form', 3],
  ])('accepts %s with any contents', async (_name, choice) => {
    const certificate = der.contextConstructed(choice, der.sequence());
    expect(await holding(3, certificate)).toMatchObject({ ...accepted, unchecked: expect.arrayContaining(['other_certificates']) });
  });

  it('accepts up to 256 certificates that are unrequested or unreadable', async () => {
    expect(await holding(3, der.sequence())).toMatchObject(accepted);
    expect(await holding(3, ...Array.from({ length: 254 }, () => signer.certificate))).toMatchObject(accepted);
    expect(await holding(3, ...Array.from({ length: 255 }, () => signer.certificate))).toMatchObject(refused('der_too_large'));
    expect(await holding(3, der.octetString())).toMatchObject(refused('der_malformed'));
  });

  it('has one eContent, in one piece', async () => {
    const bent = (change: (explicit: MutableDer, octets: MutableDer) => void) => {
      const specimen = lab.specimen();
      const root = mutableOf(specimen.answer);
      const explicit = at(root, 1, 1, 0, 2, 1);
      change(explicit, at(explicit, 0));
      return judge({ ...specimen, answer: encoded(root) });
    };
    expect(await bent(() => undefined)).toMatchObject(accepted);
    expect(await bent((explicit, octets) => void explicit.children.push(octets))).toMatchObject(refused('der_trailing'));
    // The same octets, so the signature would be valid.
    expect(await bent((_, octets) => Object.assign(octets, { tag: 0x24, children: [{ ...octets }] }))).toMatchObject(
      refused('der_not_canonical'),
    );
    expect(await bent((_, octets) => Object.assign(octets, { tag: 0x0c, contents: Buffer.from('text'), children: [] }))).toMatchObject(
      refused('der_malformed'),
    );
  });
});

describe('PKIStatusInfo (RFC 3161 §2.4.2)', () => {
  const status = (...members: readonly Buffer[]) => {
    const specimen = lab.specimen();
    return judge({ ...specimen, answer: der.sequence(der.sequence(...members), encoded(at(mutableOf(specimen.answer), 1))) });
  };

  it('may contain text in UTF-8', async () => {
    expect(await status(der.integer(0))).toMatchObject(accepted);
    expect(await status(der.integer(0), der.sequence(der.utf8String('Tout va bien')))).toMatchObject(accepted);
    expect(await status(der.integer(0), der.sequence(der.ia5String('All is well')))).toMatchObject(refused('der_malformed'));
    expect(await status(der.integer(0), der.utf8String('All is well'))).toMatchObject(refused('der_trailing'));
  });

  it('is one of the six defined values', async () => {
    for (const unknown of [-1, 6, 256, 2 ** 47])
      expect(await status(der.integer(unknown)), String(unknown)).toMatchObject(refused('token_not_granted'));
    expect(await status(der.integer(1n << 64n))).toMatchObject(refused('token_not_granted'));
    expect(await status(der.nullValue())).toMatchObject(refused('der_malformed'));
    expect(await status()).toMatchObject(refused('der_malformed'));
  });

  it('has its failure bits in DER', async () => {
    const rejection = (failInfo: Buffer) => judge({ ...lab.specimen(), answer: der.sequence(der.sequence(der.integer(2), failInfo)) });
    expect(await rejection(der.namedBits(25, 2))).toMatchObject({
      ...refused('not_granted'),
      detail: expect.stringContaining('badRequest, systemFailure'),
    });
    expect(await rejection(der.tlv(0x03, Buffer.from([0, 0x80, 0])))).toMatchObject(refused('der_not_canonical'));
  });
});

describe('bytes inside a larger buffer', () => {
  it('are read in place', async () => {
    const { answer } = lab.specimen();
    const trust = createTrustStore({ anchors: [lab.pki.root.certificate] });
    const padded = new Uint8Array(answer.length + 20);
    padded.set(answer, 10);
    expect(await verifyToken(padded.subarray(10, -10), { trust, nowMs: LAB_NOW_MS })).toMatchObject(accepted);
    expect(await verifyToken(padded, { trust, nowMs: LAB_NOW_MS })).toMatchObject({ ok: false });
  });

  it('are not written to', async () => {
    const { answer } = lab.specimen();
    const before = Buffer.from(answer);
    await verifyToken(answer, { trust: createTrustStore({ anchors: [lab.pki.root.certificate] }), nowMs: LAB_NOW_MS });
    expect(answer).toEqual(before);
  });
});

function at(element: MutableDer, ...path: readonly number[]): MutableDer {
  return path.reduce((current, index) => current.children[index]!, element);
}
