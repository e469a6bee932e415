import { generateKeyPairSync } from 'node:crypto';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { genTimeText } from '../../src/shared/rfc3161/issue/encode.ts';
import type { SigningIdentity } from '../../src/shared/rfc3161/issue/issue.ts';
import { SCHEMES } from '../../src/shared/rfc3161/issue/sign.ts';
import type { SignerOptions } from './certificates.ts';
import * as x509 from './certificates.ts';
import { below, ca, caUsage as certifying, pathLength } from './chain-lab.ts';
import { encoded, type MutableDer, mutableOf } from './der-mutation.ts';
import { rsaKey } from './rsa-keys.ts';
import { type FaultRow, signedBy, token } from './tsa-changes.ts';
import { endEntity, extensions, purposes, signer, timeStamping } from './tsa-faults-chain.ts';
import { DAY_MS, LAB_NOW_MS, type SpecimenOptions, type TsaLab } from './tsa-lab.ts';

/** Refusals 37–46 in forms that are rarely checked: certificates that break X.509, and chains of any shape. */

const NULL = der.nullValue();
const USUAL = [x509.basicConstraints(true), certifying];
const NO_CA = x509.basicConstraints(false);
const crlUsage = x509.keyUsage(x509.KEY_USAGE.cRLSign, x509.KEY_USAGE.digitalSignature);
const UNKNOWN = x509.extension('2.999.30', true, der.sequence());

/** A signer below CAs with these extensions, from the root down; the trust anchor is the CA at `anchor`. */
export function chainOf(extensionsOfEach: readonly (readonly Buffer[])[], anchor = 0): SpecimenOptions {
  const cas: SigningIdentity[] = [];
  for (const [place, list] of extensionsOfEach.entries()) cas.push(ca(cas.at(-1), { name: `CA ${place}`, extensions: list }));
  return { ...signedBy(below(cas.at(-1)!)), anchors: [cas[anchor]!.certificate] };
}

/** A signer directly below a root that is the trust anchor. */
export const belowRoot = (root: SigningIdentity, seen = root): SpecimenOptions => ({
  ...signedBy(below(seen)),
  anchors: [root.certificate],
});

/** A signer that names the root by the common name `text`, in this type. */
export function issuerCalled(text: Buffer): SpecimenOptions {
  const root = ca(undefined, { name: 'Root of the  World' });
  const attribute = (type: string, value: Buffer) => der.setOf(der.sequence(der.objectIdentifier(type), value));
  const organization = attribute(OID.organizationName, der.utf8String('QSTAMP development '));
  return belowRoot(root, { ...root, subjectName: der.sequence(organization, attribute(OID.commonName, text)) });
}

/** An intermediate CA with one bit of its signature changed. */
function bentIntermediate({ pki }: TsaLab): SpecimenOptions {
  const bent = Buffer.from(pki.intermediate.certificate);
  bent[bent.length - 1]! ^= 1;
  return token({ certificates: [pki.signer.certificate, bent] });
}

type Change = (body: MutableDer, certificate: MutableDer) => unknown;
/** The signer's certificate, changed and signed again by its issuer. */
export const resigned =
  (change: Change) =>
  ({ pki }: TsaLab): SpecimenOptions => {
    const certificate = mutableOf(pki.signer.certificate);
    const [body, , signature] = certificate.children as [MutableDer, MutableDer, MutableDer];
    change(body, certificate);
    const signed = pki.intermediate.scheme.sign(encoded(body), pki.intermediate.privateKey);
    // BIT STRING: the count of unused bits comes first.
    if (signature.contents.length > 2) signature.contents = Buffer.concat([signature.contents.subarray(0, 1), signed]);
    return signedBy({ ...pki.signer, certificate: encoded(certificate) });
  };
const malformed = (name: string, change: Change, opensslAccepts = false): FaultRow => [
  'certificate_malformed',
  name,
  resigned(change),
  opensslAccepts,
];
const extended = (name: string, ...list: readonly Buffer[]) => signer('certificate_malformed', name, extensions(...list));
const version = (body: MutableDer) => body.children[0]!.children[0]!;
const publicKey = (body: MutableDer) => body.children[6]!.children[1]!;
const set = (place: MutableDer, contents: string | readonly number[]) =>
  Object.assign(place, { contents: Buffer.from(contents as string), children: [] });

/** An RSA key of this size and exponent; nothing is signed with it. */
const rsaKeyOf = (code: ReasonCode, name: string, exponent: bigint, bits: number, algorithm: string = OID.rsaEncryption): FaultRow => {
  const key = der.bitString(der.sequence(der.integer((1n << BigInt(bits - 1)) + 1n), der.integer(exponent)));
  const spki = mutableOf(der.sequence(der.sequence(der.objectIdentifier(algorithm), NULL), key));
  return [code, `an RSA key with ${name}`, resigned((body) => body.children.splice(6, 1, spki)), false];
};
const curve = (namedCurve: string, paramEncoding: 'named' | 'explicit' = 'named'): SignerOptions => ({
  key: { ...generateKeyPairSync('ec', { namedCurve, paramEncoding }), scheme: SCHEMES.ecdsaSha256 },
});

const periodOf = (...times: readonly Buffer[]) =>
  extensions(...endEntity, timeStamping, x509.extension(OID.privateKeyUsagePeriod, false, der.sequence(...times)));
/** A signer whose key may be used between these days from now. */
export function usedBetween(from: number | undefined, to: number | undefined): SignerOptions {
  const time = (days: number) => Buffer.from(genTimeText(LAB_NOW_MS - 250 + days * DAY_MS));
  return periodOf(...[from, to].flatMap((days, tag) => (days === undefined ? [] : [der.contextPrimitive(tag, time(days))])));
}
const unused = (from: number | undefined, to: number | undefined) =>
  signer('key_usage_period', `a key to be used from day ${from} to ${to}`, usedBetween(from, to), true);

export const CERTIFICATE_FORM_FAULTS: readonly FaultRow[] = [
  signer('eku_other_purpose', 'timeStamping twice', purposes(OID.timeStamping, OID.timeStamping), true),
  ['untrusted_root', 'the issuer in another text', () => issuerCalled(der.utf8String('Root of the Worlds'))],
  ['untrusted_root', 'the issuer without a blank', () => issuerCalled(der.utf8String('Rootof the World'))],
  ['untrusted_root', 'the issuer in a type that is not folded', () => issuerCalled(der.tlv(0x14, Buffer.from('root of the World'))), true],
  [
    'untrusted_root',
    'an authority key identifier that points elsewhere',
    (lab) => {
      const elsewhere = x509.authorityKeyIdentifier(x509.generateSigningKey('p-256').publicKey);
      return signedBy(lab.signer(extensions(...endEntity, timeStamping, elsewhere)));
    },
  ],
  ['chain_signature_invalid', 'an intermediate CA with one bit of its signature changed', bentIntermediate],
  ['chain_too_long', 'two CAs below a CA that allows one', () => chainOf([[pathLength(1), certifying], USUAL, USUAL])],
  ['chain_too_long', 'a CA below a CA that allows none', () => chainOf([USUAL, [pathLength(0), certifying], USUAL])],
  ['issuer_not_ca', 'a root without any extension', () => chainOf([[]])],
  ...[0, 1].flatMap((anchor): FaultRow[] => [
    ['issuer_not_ca', `an issuer without basicConstraints below anchor ${anchor}`, () => chainOf([USUAL, [certifying]], anchor)],
    ['issuer_not_ca', `an issuer that says it is no CA, anchor ${anchor}`, () => chainOf([USUAL, [NO_CA, certifying]], anchor)],
    ['issuer_not_ca', `an issuer whose key must not certify, anchor ${anchor}`, () => chainOf([USUAL, [USUAL[0]!, crlUsage]], anchor)],
  ]),
  ['certificate_extension', 'a critical extension of the root', () => chainOf([[...USUAL, UNKNOWN], USUAL])],
  ['certificate_extension', 'a critical extension of an intermediate CA', () => chainOf([USUAL, [...USUAL, UNKNOWN]])],
  ['intermediate_eku', 'a root for serverAuth only', () => chainOf([[...USUAL, x509.extendedKeyUsage([OID.serverAuth], false)]])],
  unused(-2, -1),
  unused(1, 2),
  unused(undefined, -1),
  unused(1, undefined),
  signer('certificate_malformed', 'a private key usage period of numbers', periodOf(der.integer(1)), true),
  extended('an extension twice', NO_CA, timeStamping, timeStamping),
  ...[OID.basicConstraints, OID.keyUsage, OID.extKeyUsage, OID.subjectKeyIdentifier].flatMap((type) => {
    const rest = type === OID.extKeyUsage ? NO_CA : timeStamping;
    return [
      extended(`the extension ${type} of the wrong type`, rest, x509.extension(type, true, NULL)),
      extended(`the extension ${type} of indefinite length`, rest, x509.extension(type, true, Buffer.from([0x30, 0x80]))),
    ];
  }),
  extended('a purpose that is no OID', x509.extension(OID.extKeyUsage, true, der.sequence(der.integer(1)))),
  extended('an empty list of purposes', x509.extension(OID.extKeyUsage, true, der.sequence())),
  extended('a negative path length', timeStamping, x509.extension(OID.basicConstraints, true, der.sequence(der.integer(-1)))),
  malformed('version 4', (body) => set(version(body), [3]), true),
  malformed('version 2, which has no extensions', (body) => set(version(body), [1]), true),
  malformed('no version, and so 1, which has no extensions', (body) => body.children.shift(), true),
  malformed('a time without seconds', (body) => set(body.children[4]!.children[0]!, '2611211200Z')),
  malformed('a third time', (body) => body.children[4]!.children.push(mutableOf(der.utcTime('261121120000Z')))),
  malformed('an element after the extensions', (body) => body.children.push(mutableOf(NULL))),
  malformed('an element after the signature', (_, certificate) => certificate.children.push(mutableOf(NULL))),
  malformed('a key that is no point of its curve', (body) => publicKey(body).contents.fill(5, 2)),
  malformed('a key in bits that are no octets', (body) => set(publicKey(body), [4, 0x50])),
  malformed('another signature algorithm outside than inside', (_, certificate) =>
    certificate.children[1]!.children[0]!.contents.fill(3, 7),
  ),
  malformed('a signature that is not a whole number of octets', (_, certificate) => set(certificate.children[2]!, [1, 0])),
  rsaKeyOf('key_too_weak', 'an exponent of one', 1n, 2048),
  rsaKeyOf('key_too_weak', 'an even exponent', 65536n, 2048),
  rsaKeyOf('key_unknown', 'an exponent that takes long', (1n << 64n) + 1n, 2048),
  rsaKeyOf('key_too_weak', 'too few bits', 65537n, 2047),
  rsaKeyOf('key_unknown', 'so many bits that it takes long', 65537n, 8193),
  rsaKeyOf('key_unknown', 'the algorithm DSA', 65537n, 2048, '1.2.840.10040.4.1'),
  [
    'key_too_weak',
    'a CA with an RSA key of 1 024 bits',
    () => belowRoot(ca(undefined, { key: { ...rsaKey('rsa-1024'), scheme: SCHEMES.rsaSha256 } })),
  ],
  signer('key_too_weak', 'the curve secp224r1', curve('secp224r1')),
  signer('key_unknown', 'the curve secp256k1', curve('secp256k1'), true),
  signer('key_unknown', 'the curve brainpoolP512t1', curve('brainpoolP512t1'), true),
  signer('key_too_weak', 'a curve given by parameters', curve('P-256', 'explicit'), false),
];
