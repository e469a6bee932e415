import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import { integer, objectIdentifier, octetString, retag, sequence, utcTime } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { type Attribute, encodeSigningCertificateV2 } from '../../src/shared/rfc3161/issue/encode.ts';
import { type SigningIdentity, signTstInfo } from '../../src/shared/rfc3161/issue/issue.ts';
import { digestData, digestIdentifier, SCHEMES } from '../../src/shared/rfc3161/issue/sign.ts';
import { issueSigner } from '../../src/tsa/pki.ts';
import { type FaultyCase, LAB_NOW_MS, type TsaLab } from './tsa-lab.ts';

/** Refusals 24–36: SignerInfo, its attributes, and which certificate it means. */

type Change = (attribute: Attribute, lab: TsaLab) => readonly Attribute[];

/** Replaces the attribute of `type`, before it is signed, by what `change` gives. */
function attribute(code: ReasonCode, name: string, type: string, change: Change): FaultyCase {
  return {
    code,
    name,
    make: (lab) =>
      lab.specimen({ seams: { attributes: (attributes) => attributes.flatMap((a) => (a.type === type ? change(a, lab) : [a])) } }),
  };
}

/** Another SigningCertificateV2 than the right one. */
function essCertId(code: ReasonCode, name: string, value: (signer: SigningIdentity) => Buffer): FaultyCase {
  return attribute(code, name, OID.signingCertificateV2, (a, lab) => [{ ...a, values: [value(lab.pki.signer)] }]);
}

const SIGNING_TIME: Attribute = { type: OID.signingTime, values: [utcTime('261121120000Z')] };
const hashOf = (identity: SigningIdentity) => digestData('sha256', identity.certificate);
const flip = (bytes: Buffer, at: number): Buffer => {
  const out = Buffer.from(bytes);
  out[at < 0 ? out.length + at : at]! ^= 1;
  return out;
};

const SIGNER_INFO_FAULTS: readonly FaultyCase[] = [
  {
    code: 'signer_missing',
    name: 'no SignerInfo',
    make: (lab) => lab.specimen({ seams: { token: (parts) => ({ ...parts, signers: [] }) } }),
  },
  {
    code: 'signer_not_single',
    name: 'the same SignerInfo twice',
    make: (lab) => lab.specimen({ seams: { token: (parts) => ({ ...parts, signers: [...parts.signers, ...parts.signers] }) } }),
  },
  {
    code: 'signer_not_single',
    name: 'two signers, both true',
    make: (lab) => {
      const identity = lab.signer();
      return lab.specimen({
        seams: {
          token: (parts) => ({
            ...parts,
            certificates: [...parts.certificates, identity.certificate],
            signers: [...parts.signers, signTstInfo({ ...lab.profile, identity }, parts.eContent!, { timeMs: LAB_NOW_MS, serial: 1n })],
          }),
        },
      });
    },
  },
  {
    code: 'signed_attributes_missing',
    name: 'no signed attributes',
    make: (lab) => lab.specimen({ seams: { attributes: () => undefined } }),
  },
];

const ATTRIBUTE_FAULTS: readonly FaultyCase[] = [
  attribute('content_type_attribute', 'no contentType attribute', OID.contentType, () => []),
  attribute('content_type_attribute', 'contentType id-data', OID.contentType, (a) => [{ ...a, values: [objectIdentifier(OID.data)] }]),
  attribute('content_type_attribute', 'contentType twice', OID.contentType, (a) => [a, a]),
  attribute('content_type_attribute', 'contentType with two values', OID.contentType, (a) => [
    { ...a, values: [...a.values, objectIdentifier(OID.data)] },
  ]),
  attribute('content_type_attribute', 'contentType without a value', OID.contentType, (a) => [{ ...a, values: [] }]),
  attribute('message_digest_attribute', 'no messageDigest attribute', OID.messageDigest, () => []),
  attribute('message_digest_mismatch', 'messageDigest of something else', OID.messageDigest, (a) => [
    { ...a, values: [octetString(Buffer.alloc(32, 7))] },
  ]),
  attribute('message_digest_mismatch', 'messageDigest cut short', OID.messageDigest, (a) => [
    { ...a, values: [octetString(a.values[0]!.subarray(2, -1))] },
  ]),
  attribute('message_digest_attribute', 'messageDigest twice', OID.messageDigest, (a) => [
    a,
    { ...a, values: [octetString(Buffer.alloc(32, 7))] },
  ]),
  attribute('message_digest_attribute', 'messageDigest with two values', OID.messageDigest, (a) => [
    { ...a, values: [...a.values, octetString(Buffer.alloc(32))] },
  ]),
  {
    code: 'message_digest_mismatch',
    name: 'TSTInfo exchanged after signing',
    make: (lab) => lab.specimen({ seams: { token: (parts) => ({ ...parts, eContent: flip(parts.eContent!, -1) }) }, withoutRequest: true }),
  },
  attribute('signed_attribute_repeated', 'signingTime twice', OID.messageDigest, (a) => [a, SIGNING_TIME, SIGNING_TIME]),
  attribute('algorithm_protection_mismatch', 'protected algorithms that are not those used (RFC 6211)', OID.messageDigest, (a) => [
    a,
    { type: OID.cmsAlgorithmProtection, values: [sequence(digestIdentifier('sha512'), retag(0xa1, SCHEMES.ecdsaSha256.cmsAlgorithm))] },
  ]),
];

const UNSIGNED_FAULTS: readonly FaultyCase[] = [OID.contentType, OID.messageDigest, OID.signingTime, OID.signingCertificateV2].map(
  (type) => ({
    code: 'unsigned_attribute',
    name: `the attribute ${type} outside the signature as well`,
    make: (lab) =>
      lab.specimen({ seams: { signer: (signer) => ({ ...signer, unsignedAttributes: [{ type, values: SIGNING_TIME.values }] }) } }),
  }),
);

const SIGNATURE_FAULTS: readonly FaultyCase[] = [
  {
    code: 'signature_invalid',
    name: 'one bit of the signature',
    make: (lab) => lab.specimen({ seams: { signer: (signer) => ({ ...signer, signature: flip(signer.signature, -1) }) } }),
  },
  {
    code: 'signature_invalid',
    name: 'an empty signature',
    make: (lab) => lab.specimen({ seams: { signer: (signer) => ({ ...signer, signature: Buffer.alloc(0) }) } }),
  },
  {
    code: 'signature_invalid',
    name: 'r = s = 0',
    make: (lab) => lab.specimen({ seams: { signer: (signer) => ({ ...signer, signature: sequence(integer(0), integer(0)) }) } }),
  },
  {
    code: 'signature_invalid',
    name: 'signed with a key that is not the certificate’s',
    make: (lab) => {
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      return lab.specimen({ profile: { identity: { ...lab.pki.signer, privateKey } } });
    },
  },
  {
    code: 'signature_invalid',
    name: 'signature over eContent although there are signed attributes',
    make: (lab) =>
      lab.specimen({
        seams: {
          token: (parts) => {
            const { privateKey, scheme } = lab.pki.signer;
            return { ...parts, signers: parts.signers.map((s) => ({ ...s, signature: scheme.sign(parts.eContent!, privateKey) })) };
          },
        },
      }),
  },
];

const SIGNER_CERTIFICATE_FAULTS: readonly FaultyCase[] = [
  {
    code: 'signer_identifier_mismatch',
    name: 'signed by the first certificate, while the SID names the second',
    make: (lab) => {
      const named = lab.signer();
      return lab.specimen({
        seams: {
          signer: (signer) => ({ ...signer, sid: sequence(named.issuerName, named.serialNumber) }),
          token: (parts) => ({ ...parts, certificates: [...parts.certificates, named.certificate] }),
        },
      });
    },
  },
  {
    code: 'signer_certificate_not_found',
    name: 'the SID names no certificate that is there',
    make: (lab) =>
      lab.specimen({
        seams: { signer: (signer) => ({ ...signer, sid: sequence(lab.pki.signer.issuerName, integer(4711)) }) },
        withoutRequest: true,
      }),
  },
  {
    code: 'signer_certificate_ambiguous',
    name: 'the SID names two certificates',
    make: (lab) => {
      const serial = BigInt(`0x${lab.pki.signer.serialNumber.subarray(2).toString('hex')}`);
      const twin = lab.signer({ serial });
      return lab.specimen({ seams: { token: (parts) => ({ ...parts, certificates: [...parts.certificates, twin.certificate] }) } });
    },
  },
  {
    code: 'signer_certificate_missing',
    name: 'no certificate at all',
    make: (lab) => lab.specimen({ seams: { token: (parts) => ({ ...parts, certificates: [] }) } }),
  },
  {
    code: 'signer_certificate_missing',
    name: 'the intermediate only',
    make: (lab) => lab.specimen({ seams: { token: (parts) => ({ ...parts, certificates: [lab.pki.intermediate.certificate] }) } }),
  },
];

const ESS_FAULTS: readonly FaultyCase[] = [
  attribute('signing_certificate_missing', 'neither ESSCertID nor ESSCertIDv2', OID.signingCertificateV2, () => []),
  essCertId('signing_certificate_missing', 'a SigningCertificateV2 without certificate identifiers', () => sequence(sequence())),
  essCertId('signing_certificate_hash_mismatch', 'the hash of another certificate', (s) =>
    encodeSigningCertificateV2(Buffer.alloc(32, 9), s.issuerName, s.serialNumber),
  ),
  {
    code: 'signing_certificate_hash_mismatch',
    name: 'a certificate with the same key, name and serial number in the signer’s place',
    make: (lab) => {
      const { signer, intermediate } = lab.pki;
      const serial = BigInt(`0x${signer.serialNumber.subarray(2).toString('hex')}`);
      const { privateKey, scheme } = signer;
      const twin = issueSigner(intermediate, {
        key: { privateKey, publicKey: createPublicKey(privateKey), scheme },
        serial,
        nowMs: LAB_NOW_MS - 1000,
      });
      return lab.specimen({
        seams: { token: (parts) => ({ ...parts, certificates: [twin.certificate, intermediate.certificate] }) },
      });
    },
  },
  essCertId('signing_certificate_issuer_mismatch', 'issuerSerial with another serial number', (s) =>
    encodeSigningCertificateV2(hashOf(s), s.issuerName, integer(4711)),
  ),
  essCertId('signing_certificate_issuer_mismatch', 'issuerSerial with another issuer', (s) =>
    encodeSigningCertificateV2(hashOf(s), s.subjectName, s.serialNumber),
  ),
  essCertId('signing_certificate_hash_unknown', 'a hash algorithm that nobody knows', (s) =>
    encodeSigningCertificateV2(hashOf(s), s.issuerName, s.serialNumber, sequence(objectIdentifier('2.999.3161.36'))),
  ),
  essCertId('signing_certificate_hash_unknown', 'MD5', (s) =>
    encodeSigningCertificateV2(digestData('md5', s.certificate), s.issuerName, s.serialNumber, sequence(objectIdentifier(OID.md5))),
  ),
];

export const CMS_FAULTS: readonly FaultyCase[] = [
  ...SIGNER_INFO_FAULTS,
  ...ATTRIBUTE_FAULTS,
  ...UNSIGNED_FAULTS,
  ...SIGNATURE_FAULTS,
  ...SIGNER_CERTIFICATE_FAULTS,
  ...ESS_FAULTS,
];
