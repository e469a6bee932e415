import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { type Attribute, encodeSigningCertificateV2 } from '../../src/shared/rfc3161/issue/encode.ts';
import { type SigningIdentity, signTstInfo } from '../../src/shared/rfc3161/issue/issue.ts';
import { SCHEMES } from '../../src/shared/rfc3161/issue/sign.ts';
import { digestData, digestIdentifier } from '../../src/shared/rfc3161/x509/digests.ts';
import { issueSigner } from '../../src/tsa/pki.ts';
import { attribute, attributes, fault, moreCertificates, signedBy, signerInfo, signingCertificate, token, unasked } from './tsa-changes.ts';
import { type FaultyCase, LAB_NOW_MS, type TsaLab } from './tsa-lab.ts';

/** Refusals 24–36: SignerInfo, its attributes, and the certificate that it names. */

const contentType = (name: string, change: (good: Attribute) => readonly Attribute[]) =>
  fault('content_type_attribute', name, attribute(OID.contentType, change));
const messageDigest = (code: ReasonCode, name: string, change: (good: Attribute) => readonly Attribute[]) =>
  fault(code, name, attribute(OID.messageDigest, change));
const essCertId = (code: ReasonCode, name: string, value: (signer: SigningIdentity) => Buffer) =>
  fault(code, name, (lab) => signingCertificate(value(lab.pki.signer)));

const DATA = der.objectIdentifier(OID.data);
/** Always the first one in a SET, and so the one that OpenSSL compares. */
const OTHER_DIGEST = der.octetString(Buffer.alloc(32));
const TWO_TIMES = [der.utcTime('261121120000Z'), der.utcTime('261121120001Z')];
const SIGNING_TIME: Attribute = { type: OID.signingTime, values: [der.utcTime('261121120000Z')] };
/** RFC 6211. */
const OTHER_ALGORITHMS: Attribute = {
  type: OID.cmsAlgorithmProtection,
  values: [der.sequence(digestIdentifier('sha512'), der.retag(0xa1, SCHEMES.ecdsaSha256.cmsAlgorithm))],
};
const hashOf = (identity: SigningIdentity) => digestData('sha256', identity.certificate);
const serialOf = ({ serialNumber }: SigningIdentity) => BigInt(`0x${serialNumber.subarray(2).toString('hex')}`);
const flip = (bytes: Buffer): Buffer => {
  const out = Buffer.from(bytes);
  out[out.length - 1]! ^= 1;
  return out;
};

function twoSigners(lab: TsaLab) {
  const identity = lab.signer();
  return token(({ certificates, signers, eContent }) => ({
    certificates: [...certificates, identity.certificate],
    signers: [...signers, signTstInfo({ ...lab.profile, identity }, eContent!, { timeMs: LAB_NOW_MS, serial: 1n })],
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

/** Another certificate with the key, the name and the serial number of the signer's. */
function twinOf({ pki: { signer, intermediate } }: TsaLab): Buffer {
  const { privateKey, scheme } = signer;
  const key = { privateKey, publicKey: createPublicKey(privateKey), scheme };
  return issueSigner(intermediate, { key, serial: serialOf(signer), nowMs: LAB_NOW_MS - 1000 }).certificate;
}

export const CMS_FAULTS: readonly FaultyCase[] = [
  fault('signer_missing', 'no SignerInfo', token({ signers: [] })),
  fault(
    'signer_not_single',
    'the same SignerInfo twice',
    token(({ signers }) => ({ signers: [...signers, ...signers] })),
  ),
  fault('signer_not_single', 'two signers, both true', twoSigners),
  fault(
    'signed_attributes_missing',
    'no signed attributes',
    attributes(() => undefined),
  ),

  contentType('no contentType attribute', () => []),
  contentType('contentType id-data', (a) => [{ ...a, values: [DATA] }]),
  contentType('contentType twice', (a) => [a, a]),
  contentType('contentType with two values', (a) => [{ ...a, values: [...a.values, DATA] }]),
  contentType('contentType without a value', (a) => [{ ...a, values: [] }]),
  messageDigest('message_digest_attribute', 'no messageDigest attribute', () => []),
  messageDigest('message_digest_mismatch', 'messageDigest of something else', (a) => [{ ...a, values: [OTHER_DIGEST] }]),
  messageDigest('message_digest_mismatch', 'messageDigest cut short', (a) => [
    { ...a, values: [der.octetString(a.values[0]!.subarray(2, -1))] },
  ]),
  messageDigest('message_digest_attribute', 'messageDigest twice', (a) => [a, { ...a, values: [OTHER_DIGEST] }]),
  messageDigest('message_digest_attribute', 'messageDigest with two values', (a) => [{ ...a, values: [...a.values, OTHER_DIGEST] }]),
  fault('message_digest_mismatch', 'TSTInfo exchanged after signing', unasked(token(({ eContent }) => ({ eContent: flip(eContent!) })))),
  messageDigest('signed_attribute_repeated', 'signingTime twice', (a) => [a, SIGNING_TIME, SIGNING_TIME]),
  messageDigest('signed_attribute_repeated', 'signingTime with two values', (a) => [a, { ...SIGNING_TIME, values: TWO_TIMES }]),
  messageDigest('algorithm_protection_mismatch', 'protected algorithms that are not those used', (a) => [a, OTHER_ALGORITHMS]),
  ...[OID.contentType, OID.messageDigest, OID.signingTime, OID.signingCertificateV2].map((type) =>
    fault(
      'unsigned_attribute',
      `the attribute ${type} outside the signature as well`,
      signerInfo({ unsignedAttributes: [{ type, values: SIGNING_TIME.values }] }),
    ),
  ),

  fault(
    'signature_invalid',
    'one bit of the signature',
    signerInfo(({ signature }) => ({ signature: flip(signature) })),
  ),
  fault('signature_invalid', 'an empty signature', signerInfo({ signature: Buffer.alloc(0) })),
  fault('signature_invalid', 'r = s = 0', signerInfo({ signature: der.sequence(der.integer(0), der.integer(0)) })),
  fault('signature_invalid', 'signed with a key that is not the certificate’s', (lab) =>
    signedBy({ ...lab.pki.signer, privateKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey }),
  ),
  fault('signature_invalid', 'signature over eContent although there are signed attributes', signedOverContent),

  fault('signer_identifier_mismatch', 'signed by the first certificate, while the SID names the second', otherSid),
  fault('signer_certificate_not_found', 'the SID names no certificate that is there', (lab) =>
    unasked(signerInfo({ sid: der.sequence(lab.pki.signer.issuerName, der.integer(4711)) })),
  ),
  fault('signer_certificate_ambiguous', 'the SID names two certificates', (lab) =>
    moreCertificates(lab.signer({ serial: serialOf(lab.pki.signer) }).certificate),
  ),
  fault('signer_certificate_missing', 'no certificate at all', token({ certificates: [] })),
  fault('signer_certificate_missing', 'the intermediate only', (lab) => token({ certificates: [lab.pki.intermediate.certificate] })),

  fault(
    'signing_certificate_missing',
    'neither ESSCertID nor ESSCertIDv2',
    attribute(OID.signingCertificateV2, () => []),
  ),
  essCertId('signing_certificate_missing', 'a SigningCertificateV2 without certificate identifiers', () => der.sequence(der.sequence())),
  essCertId('signing_certificate_hash_mismatch', 'the hash of another certificate', (s) =>
    encodeSigningCertificateV2(Buffer.alloc(32, 9), s.issuerName, s.serialNumber),
  ),
  fault('signing_certificate_hash_mismatch', 'a certificate with the same key, name and serial number in the signer’s place', (lab) =>
    token({ certificates: [twinOf(lab), lab.pki.intermediate.certificate] }),
  ),
  essCertId('signing_certificate_issuer_mismatch', 'issuerSerial with another serial number', (s) =>
    encodeSigningCertificateV2(hashOf(s), s.issuerName, der.integer(4711)),
  ),
  essCertId('signing_certificate_issuer_mismatch', 'issuerSerial with another issuer', (s) =>
    encodeSigningCertificateV2(hashOf(s), s.subjectName, s.serialNumber),
  ),
  essCertId('signing_certificate_hash_unknown', 'a hash algorithm that nobody knows', (s) =>
    encodeSigningCertificateV2(hashOf(s), s.issuerName, s.serialNumber, der.sequence(der.objectIdentifier('2.999.3161.36'))),
  ),
  essCertId('signature_algorithm_weak', 'MD5', (s) =>
    encodeSigningCertificateV2(digestData('md5', s.certificate), s.issuerName, s.serialNumber, der.sequence(der.objectIdentifier(OID.md5))),
  ),
];
