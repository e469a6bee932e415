import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { type Attribute, directoryName, encodeAttributes, encodeSigningCertificateV2 } from '../../src/shared/rfc3161/issue/encode.ts';
import { type SigningIdentity, signAttributes, signedAttributesOf } from '../../src/shared/rfc3161/issue/issue.ts';
import { SCHEMES } from '../../src/shared/rfc3161/issue/sign.ts';
import { digestData, digestIdentifier } from '../../src/shared/rfc3161/x509/algorithms.ts';
import {
  basicConstraints,
  extendedKeyUsage,
  generateSigningKey,
  issueSigner,
  keyIdentifier,
  type SignerOptions,
  subjectKeyIdentifier,
} from './certificates.ts';
import {
  attribute,
  attributes,
  type FaultRow,
  moreCertificates,
  signedBy,
  signerInfo,
  signingCertificate,
  token,
  unasked,
} from './tsa-changes.ts';
import { LAB_NOW_MS, type TsaLab } from './tsa-lab.ts';

/** Refusals 24–36: SignerInfo, its attributes, and the certificate that it names. */

const contentType = (name: string, change: (good: Attribute) => readonly Attribute[]): FaultRow => [
  'content_type_attribute',
  name,
  attribute(OID.contentType, change),
];
const messageDigest = (code: ReasonCode, name: string, change: (good: Attribute) => readonly Attribute[]): FaultRow => [
  code,
  name,
  attribute(OID.messageDigest, change),
];
const essCertId = (code: ReasonCode, name: string, value: (signer: SigningIdentity, lab: TsaLab) => Buffer): FaultRow => [
  code,
  name,
  (lab) => signingCertificate(value(lab.pki.signer, lab)),
];

const DATA = der.objectIdentifier(OID.data);
/** Behind the right one in a SET. */
const AFTER_TST_INFO = der.objectIdentifier(`${OID.tstInfo}.1`);
/** Always the first one in a SET, and so the one that OpenSSL compares. */
const FIRST = Buffer.alloc(32);
const OTHER_DIGEST = der.octetString(FIRST);
const TWO_TIMES = [der.utcTime('261121120000Z'), der.utcTime('261121120001Z')];
const SIGNING_TIME: Attribute = { type: OID.signingTime, values: [der.utcTime('261121120000Z')] };
/** RFC 6211. */
const OTHER_ALGORITHMS: Attribute = {
  type: OID.cmsAlgorithmProtection,
  values: [der.sequence(digestIdentifier('sha512'), der.retag(0xa1, SCHEMES.ecdsaSha256.cmsAlgorithm))],
};
const [SHA256, SHA512] = [digestIdentifier('sha256'), digestIdentifier('sha512')];
const ECDSA = SCHEMES.ecdsaSha256.cmsAlgorithm;
const hashOf = (identity: SigningIdentity) => digestData('sha256', identity.certificate);
const serialOf = ({ serialNumber }: SigningIdentity) => BigInt(`0x${serialNumber.subarray(2).toString('hex')}`);
/** The signing certificate attributes of RFC 2634 and RFC 5035. */
export const essV1 = ({ certificate }: SigningIdentity, hash: 'sha1' | 'sha256' = 'sha1'): Attribute => ({
  type: OID.signingCertificate,
  values: [der.sequence(der.sequence(der.sequence(der.octetString(digestData(hash, certificate)))))],
});
const essV2 = (identity: SigningIdentity, hash = hashOf(identity)): Attribute => ({
  type: OID.signingCertificateV2,
  values: [encodeSigningCertificateV2(hash, identity.issuerName, identity.serialNumber)],
});
const essInstead = (change: (good: Attribute, lab: TsaLab) => readonly Attribute[]) => (lab: TsaLab) =>
  attribute(OID.signingCertificateV2, (good) => change(good, lab));
const issuerNamed = (name: string, names: (signer: SigningIdentity, lab: TsaLab) => readonly Buffer[]) =>
  essCertId('signing_certificate_issuer_mismatch', `issuerSerial with ${name}`, (s, lab) => {
    const issuerSerial = der.sequence(der.sequence(...names(s, lab)), s.serialNumber);
    return der.sequence(der.sequence(der.sequence(der.octetString(hashOf(s)), issuerSerial)));
  });
const protectedAlgorithms = (name: string, ...values: readonly Buffer[]) =>
  messageDigest('algorithm_protection_mismatch', `protected algorithms: ${name}`, (a) => [a, { type: OID.cmsAlgorithmProtection, values }]);
const protection = (digest: Buffer, signature: Buffer) => der.sequence(digest, der.retag(0xa1, signature));

/** A signer whom the SID names by the key; the token also contains the certificates that `more` picks from the signer's and a twin's. */
export function byKeyIdentifier(lab: TsaLab, version: number, more: (own: Buffer, twin: Buffer) => readonly Buffer[]) {
  const key = generateSigningKey('p-256');
  const extensions: SignerOptions['extensions'] = (publicKey) => [
    basicConstraints(false),
    extendedKeyUsage([OID.timeStamping]),
    subjectKeyIdentifier(publicKey),
  ];
  const [own, twin] = [11n, 12n].map((serial) => lab.signer({ key, extensions, serial })) as [SigningIdentity, SigningIdentity];
  const { seams } = signerInfo({ version, sid: der.contextPrimitive(0, keyIdentifier(key.publicKey)) });
  return { ...signedBy(own), seams: { ...seams, ...moreCertificates(...more(own.certificate, twin.certificate)).seams } };
}

const flip = (bytes: Buffer): Buffer => {
  const out = Buffer.from(bytes);
  out[out.length - 1]! ^= 1;
  return out;
};

function twoSigners(lab: TsaLab) {
  const identity = lab.signer();
  return token(({ certificates, signers, eContent }) => ({
    certificates: [...certificates, identity.certificate],
    signers: [...signers, signAttributes(identity, encodeAttributes(signedAttributesOf(identity, eContent!)))],
  }));
}

function signedOverContent(lab: TsaLab) {
  const { privateKey, scheme } = lab.pki.signer;
  return token(({ eContent, signers }) => ({ signers: signers.map((s) => ({ ...s, signature: scheme.sign(eContent!, privateKey) })) }));
}

function otherSid(lab: TsaLab) {
  const named = lab.signer();
  const { seams } = signerInfo({ sid: der.sequence(named.issuerName, named.serialNumber) });
  return { seams: { ...seams, ...moreCertificates(named.certificate).seams } };
}

const inCapitals = (name: Buffer) => Buffer.from(name.toString('latin1').replace('Time', 'TIME'), 'latin1');

/** Another certificate with the key, the name and the serial number of the signer's. */
function twinOf({ pki: { signer, intermediate } }: TsaLab): Buffer {
  const { privateKey, scheme } = signer;
  const key = { privateKey, publicKey: createPublicKey(privateKey), scheme };
  return issueSigner(intermediate, { key, serial: serialOf(signer), nowMs: LAB_NOW_MS - 1000 }).certificate;
}

export const CMS_FAULTS: readonly FaultRow[] = [
  ['signer_missing', 'no SignerInfo', token({ signers: [] })],
  ['signer_not_single', 'the same SignerInfo twice', token(({ signers }) => ({ signers: [...signers, ...signers] }))],
  ['signer_not_single', 'two signers, both true', twoSigners],
  ['signed_attributes_missing', 'no signed attributes', attributes(() => undefined)],

  contentType('no contentType attribute', () => []),
  contentType('contentType id-data', (a) => [{ ...a, values: [DATA] }]),
  contentType('contentType twice', (a) => [a, a]),
  contentType('contentType with two values', (a) => [{ ...a, values: [...a.values, AFTER_TST_INFO] }]),
  contentType('contentType without a value', (a) => [{ ...a, values: [] }]),
  messageDigest('message_digest_attribute', 'no messageDigest attribute', () => []),
  messageDigest('message_digest_mismatch', 'messageDigest of something else', (a) => [{ ...a, values: [OTHER_DIGEST] }]),
  messageDigest('message_digest_mismatch', 'messageDigest cut short', (a) => [
    { ...a, values: [der.octetString(a.values[0]!.subarray(2, -1))] },
  ]),
  messageDigest('message_digest_attribute', 'messageDigest twice', (a) => [a, { ...a, values: [OTHER_DIGEST] }]),
  messageDigest('message_digest_attribute', 'messageDigest with two values', (a) => [{ ...a, values: [...a.values, OTHER_DIGEST] }]),
  ['message_digest_mismatch', 'TSTInfo exchanged after signing', unasked(token(({ eContent }) => ({ eContent: flip(eContent!) })))],
  messageDigest('signed_attribute_repeated', 'signingTime twice', (a) => [a, SIGNING_TIME, SIGNING_TIME]),
  messageDigest('signed_attribute_repeated', 'signingTime with two values', (a) => [a, { ...SIGNING_TIME, values: TWO_TIMES }]),
  messageDigest('algorithm_protection_mismatch', 'protected algorithms that are not those used', (a) => [a, OTHER_ALGORITHMS]),
  protectedAlgorithms('another signature algorithm', protection(SHA256, der.sequence(der.objectIdentifier(OID.ed25519)))),
  protectedAlgorithms('two values', protection(SHA256, ECDSA), protection(SHA512, ECDSA)),
  protectedAlgorithms('no value'),
  protectedAlgorithms('without the signature algorithm', der.sequence(SHA256)),
  ...[OID.contentType, OID.messageDigest, OID.signingTime, OID.signingCertificateV2].map(
    (type): FaultRow => [
      'unsigned_attribute',
      `the attribute ${type} outside the signature as well`,
      signerInfo({ unsignedAttributes: [{ type, values: SIGNING_TIME.values }] }),
    ],
  ),

  ['signature_invalid', 'one bit of the signature', signerInfo(({ signature }) => ({ signature: flip(signature) }))],
  [
    'signature_invalid',
    'signed with a key that is not the certificate’s',
    (lab) => signedBy({ ...lab.pki.signer, privateKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey }),
  ],
  ['signature_invalid', 'signature over eContent although there are signed attributes', signedOverContent],

  ['signer_identifier_mismatch', 'signed by the first certificate, while the SID names the second', otherSid],
  [
    'signer_certificate_not_found',
    'the SID names no certificate that is there',
    (lab) => unasked(signerInfo({ sid: der.sequence(lab.pki.signer.issuerName, der.integer(4711)) })),
  ],
  [
    'signer_certificate_ambiguous',
    'the SID names two certificates',
    (lab) => moreCertificates(lab.signer({ serial: serialOf(lab.pki.signer) }).certificate),
  ],
  [
    'signer_certificate_ambiguous',
    'two certificates have the subject key identifier',
    (lab) => byKeyIdentifier(lab, 3, (_, twin) => [twin]),
    false,
  ],
  [
    'signer_certificate_not_found',
    'the SID names the issuer in capitals', // octets are compared, because nobody signs the SID
    ({ pki: { signer: s } }) => unasked(signerInfo({ sid: der.sequence(inCapitals(s.issuerName), s.serialNumber) })),
    true,
  ],
  ['signer_certificate_missing', 'no certificate at all', token({ certificates: [] })],
  ['signer_certificate_missing', 'the intermediate only', (lab) => token({ certificates: [lab.pki.intermediate.certificate] })],

  ['signing_certificate_missing', 'neither ESSCertID nor ESSCertIDv2', attribute(OID.signingCertificateV2, () => [])],
  essCertId('signing_certificate_missing', 'a SigningCertificateV2 without certificate identifiers', () => der.sequence(der.sequence())),
  essCertId('signing_certificate_hash_mismatch', 'the hash of another certificate', (s) =>
    encodeSigningCertificateV2(Buffer.alloc(32, 9), s.issuerName, s.serialNumber),
  ),
  [
    'signing_certificate_hash_mismatch',
    'a certificate with the same key, name and serial number in the signer’s place',
    (lab) => token({ certificates: [twinOf(lab), lab.pki.intermediate.certificate] }),
  ],
  essCertId('signing_certificate_issuer_mismatch', 'issuerSerial with another serial number', (s) =>
    encodeSigningCertificateV2(hashOf(s), s.issuerName, der.integer(4711)),
  ),
  essCertId('signing_certificate_issuer_mismatch', 'issuerSerial with another issuer', (s) =>
    encodeSigningCertificateV2(hashOf(s), s.subjectName, s.serialNumber),
  ),
  issuerNamed('no issuer', () => []),
  issuerNamed('two issuers', (s) => [directoryName(s.issuerName), directoryName(s.subjectName)]),
  issuerNamed('a host as issuer', () => [der.contextPrimitive(2, Buffer.from('tsa.example'))]),
  ['signing_certificate_hash_mismatch', 'an ESSCertID of SHA-256', essInstead((_, { pki }) => [essV1(pki.signer, 'sha256')])],
  [
    'signing_certificate_hash_mismatch',
    'a good ESSCertIDv2, and an ESSCertID of another',
    essInstead((a, lab) => [a, essV1(lab.signer())]),
  ],
  [
    'signing_certificate_hash_mismatch',
    'a good ESSCertID, and an ESSCertIDv2 of another',
    essInstead((_, lab) => [essV1(lab.pki.signer), essV2(lab.signer())]),
  ],
  ['signed_attribute_repeated', 'two SigningCertificateV2', essInstead((a, lab) => [a, essV2(lab.pki.signer, FIRST)]), false],
  [
    'signing_certificate_missing',
    'a SigningCertificateV2 with two values',
    essInstead((a, lab) => [{ ...a, values: [...a.values, ...essV2(lab.pki.signer, FIRST).values] }]),
  ],
  essCertId('signing_certificate_hash_unknown', 'a hash algorithm that nobody knows', (s) =>
    encodeSigningCertificateV2(hashOf(s), s.issuerName, s.serialNumber, der.sequence(der.objectIdentifier('2.999.3161.36'))),
  ),
  essCertId('signature_algorithm_weak', 'MD5', (s) =>
    encodeSigningCertificateV2(digestData('md5', s.certificate), s.issuerName, s.serialNumber, der.sequence(der.objectIdentifier(OID.md5))),
  ),
];
