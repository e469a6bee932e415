import { describe, expect, it } from 'vitest';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { genTimeText } from '../../src/shared/rfc3161/issue/encode.ts';
import type { VerifyResult } from '../../src/shared/rfc3161/tsp/types.ts';
import * as x509 from '../../src/tsa/certificate.ts';
import { encoded, type MutableDer, mutableOf } from '../support/der-mutation.ts';
import { judge } from '../support/judge.ts';
import { createTsaLab, DAY_MS, LAB_NOW_MS } from '../support/tsa-lab.ts';

const lab = createTsaLab();
const malformed = { ok: false, code: 'certificate_malformed' };

describe('certificates that break X.509', () => {
  const key = x509.generateSigningKey('p-256');
  const good = [x509.basicConstraints(false), x509.extendedKeyUsage([OID.timeStamping]), x509.subjectKeyIdentifier(key.publicKey)];
  const signerWith = (extensions: readonly Buffer[]) =>
    judge(lab.specimen({ profile: { identity: lab.signer({ key, extensions: () => extensions }) } }));

  it('an extension twice', async () => {
    expect(await signerWith(good)).toMatchObject({ ok: true });
    expect(await signerWith([...good, x509.extendedKeyUsage([OID.timeStamping])])).toMatchObject(malformed);
  });

  it('an extension whose value has the wrong type', async () => {
    const broken = [OID.basicConstraints, OID.keyUsage, OID.extKeyUsage, OID.subjectKeyIdentifier];
    for (const type of broken) {
      const rest = [x509.basicConstraints(false), x509.keyUsage(0), x509.extendedKeyUsage([OID.timeStamping])].filter(
        (one) => !one.includes(der.objectIdentifier(type)),
      );
      expect(await signerWith([...rest, x509.extension(type, true, der.nullValue())]), type).toMatchObject(malformed);
      expect(await signerWith([...rest, x509.extension(type, true, Buffer.from([0x30, 0x80]))]), type).toMatchObject({
        ok: false,
        code: 'certificate_malformed',
      });
    }
  });

  it('a genTime outside the private key usage period', async () => {
    const time = (days: number) => Buffer.from(genTimeText(Math.floor((LAB_NOW_MS + days * DAY_MS) / 1000) * 1000));
    const period = (from: number | undefined, to: number | undefined, critical = false) => {
      const [start, end] = [from, to].map((days, tag) => (days === undefined ? [] : [der.contextPrimitive(tag, time(days))]));
      return signerWith([...good, x509.extension(OID.privateKeyUsagePeriod, critical, der.sequence(...start!, ...end!))]);
    };
    for (const [from, to] of [
      [-1, 1],
      [-1, undefined],
      [undefined, 1],
    ])
      expect(await period(from, to, true)).toMatchObject({ ok: true });
    for (const [from, to] of [
      [-2, -1],
      [1, 2],
      [undefined, -1],
      [1, undefined],
    ])
      expect(await period(from, to)).toMatchObject({ ok: false, code: 'key_usage_period' });
    expect(await signerWith([...good, x509.extension(OID.privateKeyUsagePeriod, false, der.sequence(der.integer(1)))])).toMatchObject(
      malformed,
    );
  });

  it('an authority key identifier that points elsewhere', async () => {
    const elsewhere = x509.authorityKeyIdentifier(key.publicKey);
    expect(await signerWith([...good, elsewhere])).toMatchObject({ ok: false, code: 'untrusted_root' });
  });

  it('an invalid purpose OID, a negative path length, and an empty list of purposes', async () => {
    const eku = (value: Buffer) => signerWith([x509.basicConstraints(false), x509.extension(OID.extKeyUsage, true, value)]);
    expect(await eku(der.sequence(der.integer(1)))).toMatchObject(malformed);
    expect(await eku(der.sequence())).toMatchObject(malformed);
    expect(
      await signerWith([
        x509.extendedKeyUsage([OID.timeStamping]),
        x509.extension(OID.basicConstraints, true, der.sequence(der.integer(-1))),
      ]),
    ).toMatchObject(malformed);
  });

  /** The signer's certificate, changed and signed again by its issuer. */
  function resigned(change: (body: MutableDer, certificate: MutableDer) => void): Promise<VerifyResult> {
    const { signer, intermediate } = lab.pki;
    const certificate = mutableOf(signer.certificate);
    const [body, , signature] = certificate.children as [MutableDer, MutableDer, MutableDer];
    change(body, certificate);
    const signed = intermediate.scheme.sign(encoded(body), intermediate.privateKey);
    // BIT STRING: the count of unused bits comes first.
    signature.contents = Buffer.concat([signature.contents.subarray(0, 1), signed]);
    return judge(lab.specimen({ profile: { identity: { ...signer, certificate: encoded(certificate) } } }));
  }
  const version = (body: MutableDer) => body.children[0]!.children[0]!;
  const element = (tag: number, contents: readonly number[]): MutableDer => ({ tag, contents: Buffer.from(contents), children: [] });

  const put = (place: MutableDer, contents: Buffer): void => {
    place.contents = contents;
  };

  it('an unchanged certificate that is signed again is valid', async () => {
    expect(await resigned(() => undefined)).toMatchObject({ ok: true });
  });

  it.each<[string, (body: MutableDer, certificate: MutableDer) => void]>([
    ['version 4', (body) => put(version(body), Buffer.from([3]))],
    ['version 2, which has no extensions', (body) => put(version(body), Buffer.from([1]))],
    ['no version, and so 1, which has no extensions', (body) => void body.children.shift()],
    ['a time without seconds', (body) => put(body.children[4]!.children[0]!, Buffer.from('2611211200Z'))],
    ['a third time', (body) => void body.children[4]!.children.push(element(0x17, [...Buffer.from('261121120000Z')]))],
    ['something after the extensions', (body) => void body.children.push(element(0x05, []))],
    ['something after the signature', (_body, certificate) => void certificate.children.push(element(0x05, []))],
    ['a key that is no point of its curve', (body) => void body.children[6]!.children[1]!.contents.fill(5, 2)],
    ['a key in bits that are no octets', (body) => put(body.children[6]!.children[1]!, Buffer.from([4, 0x50]))],
    [
      'another signature algorithm outside than inside',
      (_body, certificate) => void certificate.children[1]!.children[0]!.contents.fill(3, 7),
    ],
  ])('%s', async (_name, change) => {
    expect(await resigned(change)).toMatchObject(malformed);
  });

  it.each<[string, string, bigint, number, ReasonCode]>([
    ['an exponent of one', OID.rsaEncryption, 1n, 2048, 'key_too_weak'],
    ['an even exponent', OID.rsaEncryption, 65536n, 2048, 'key_too_weak'],
    ['an exponent that takes long', OID.rsaEncryption, (1n << 64n) + 1n, 2048, 'key_unknown'],
    ['too few bits', OID.rsaEncryption, 65537n, 2047, 'key_too_weak'],
    ['so many bits that it takes long', OID.rsaEncryption, 65537n, 8193, 'key_unknown'],
    ['an algorithm that is not known', '1.2.840.10040.4.1', 65537n, 2048, 'key_unknown'],
  ])('a key with %s (46)', async (_name, algorithm, exponent, bits, code) => {
    const key = der.bitString(der.sequence(der.integer((1n << BigInt(bits - 1)) + 1n), der.integer(exponent)));
    const spki = mutableOf(der.sequence(der.sequence(der.objectIdentifier(algorithm), der.nullValue()), key));
    expect(await resigned((body) => void body.children.splice(6, 1, spki))).toMatchObject({ ok: false, code });
  });

  it('a signature that is not a whole number of octets', async () => {
    const bent = (_body: MutableDer, certificate: MutableDer) => put(certificate.children[2]!, Buffer.from([1, 0]));
    // One bit of the signature decides whether the gate or the reader refuses it.
    expect(await resigned(bent)).toMatchObject({ ok: false, code: expect.stringMatching(/^(?:der_not_canonical|certificate_malformed)$/) });
  });
});
