import { createPublicKey } from 'node:crypto';
import { contentsOf, derOf, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import {
  boolean,
  contextConstructed,
  contextPrimitive,
  integer,
  nullValue,
  objectIdentifier,
  octetString,
  retag,
  sequence,
  setOf,
  tlv,
  utcTime,
  utf8String,
} from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { TAG } from '../../src/shared/rfc3161/asn1/tags.ts';
import { encodeSigningCertificateV2 } from '../../src/shared/rfc3161/issue/encode.ts';
import type { SigningIdentity } from '../../src/shared/rfc3161/issue/issue.ts';
import { digestData, digestIdentifier } from '../../src/shared/rfc3161/issue/sign.ts';
import { extendedKeyUsage, extension, keyIdentifier } from '../../src/tsa/certificate.ts';
import { createPki, issueIntermediate, issueSigner } from '../../src/tsa/pki.ts';
import { below, revocationLists } from './tsa-faults-chain.ts';
import { type Case, DAY_MS, LAB_NOW_MS, type SpecimenOptions, type TsaLab } from './tsa-lab.ts';

/** Answers that look unusual and are right: a verifier that refuses one of them refuses TSAs that people use. */

const of = (name: string, options: SpecimenOptions | ((lab: TsaLab) => SpecimenOptions)): Case => ({
  name,
  make: (lab) => lab.specimen(typeof options === 'function' ? options(lab) : options),
});

/** Another value for the SigningCertificateV2 attribute, or, with another `type`, another attribute in its place. */
function signingCertificate(name: string, value: (signer: SigningIdentity) => Buffer, type: string = OID.signingCertificateV2): Case {
  return of(name, (lab) => ({
    seams: {
      attributes: (attributes) =>
        attributes.map((a) => (a.type === OID.signingCertificateV2 ? { type, values: [value(lab.pki.signer)] } : a)),
    },
  }));
}

/** The same name with PrintableString in place of UTF8String. */
const asPrintable = (name: Buffer): Buffer =>
  sequence(
    ...parseDer(name).children.map((set) =>
      setOf(...set.children.map(({ children: [type, value] }) => sequence(derOf(type!), tlv(TAG.printableString, contentsOf(value!))))),
    ),
  );

const CRL_TIME = utcTime('261121120000Z');

const fraction = (text: string): Case =>
  of(`genTime with the fraction ${text}`, {
    seams: { fields: (fields) => ({ ...fields, genTime: `20261121120000.${text}Z` }) },
  });

export const GOOD_VARIANTS: readonly Case[] = [
  of('nothing unusual', {}),
  of('no accuracy', { seams: { fields: (fields) => ({ ...fields, accuracy: undefined }) } }),
  of('accuracy in seconds, millis and micros', { profile: { accuracy: { seconds: 1, millis: 999, micros: 1 } } }),
  of('ordering TRUE', { profile: { ordering: true } }),
  of('TSTInfo.tsa is the signer', { profile: { includeTsaName: true } }),
  of('signingTime', { profile: { includeSigningTime: true } }),
  of('no nonce was asked for', { ask: { nonce: undefined } }),
  of('a negative nonce', { ask: { nonce: -5n } }),
  of('a nonce of 160 bits', { ask: { nonce: 1n << 159n } }),
  of('NULL parameters of the digest', { ask: { nullParameters: true } }),
  of('SHA-384 imprint', { ask: { hash: 'sha384' } }),
  of('SHA-512 imprint', { ask: { hash: 'sha512' } }),
  of('the policy that was asked for', { ask: { policy: '2.999.3161.1' } }),
  fraction('1'),
  fraction('123456'),
  fraction('123456789'),
  of('genTime without a fraction', { timeMs: Math.floor(LAB_NOW_MS / 1000) * 1000 }),
  of('a TSTInfo extension that nobody knows and that is not critical', {
    seams: { fields: (fields) => ({ ...fields, extensions: [extension('2.999.3161.14', false, nullValue())] }) },
  }),
  of('a TSTInfo extension that spells out that it is not critical', {
    seams: {
      fields: (fields) => ({
        ...fields,
        extensions: [sequence(objectIdentifier('2.999.3161.14'), boolean(false), octetString(nullValue()))],
      }),
    },
  }),
  of('ordering spelled out as FALSE', {
    ask: { nonce: undefined },
    // ordering is the last field when there is no nonce.
    seams: { eContent: (der) => sequence(contentsOf(parseDer(der)), boolean(false)) },
  }),
  of('unsigned attributes that are nobody’s business', {
    seams: { signer: (signer) => ({ ...signer, unsignedAttributes: [{ type: '2.999.3161.5', values: [utf8String('hello')] }] }) },
  }),
  of('a CA whose distribution points are critical', (lab) => {
    const uri = contextPrimitive(6, Buffer.from('http://ca.example/list.crl'));
    const points = extension(OID.cRLDistributionPoints, true, sequence(sequence(contextConstructed(0, contextConstructed(0, uri)))));
    return {
      profile: {
        identity: issueSigner(issueIntermediate(lab.pki.root, { algorithm: 'p-256', nowMs: LAB_NOW_MS - DAY_MS, extensions: [points] }), {
          nowMs: LAB_NOW_MS - DAY_MS,
        }),
      },
    };
  }),
  of('certificates in another order', { seams: { token: (parts) => ({ ...parts, certificates: [...parts.certificates].reverse() }) } }),
  of('another TSA certificate before the signer’s (30)', (lab) => ({
    seams: { token: (parts) => ({ ...parts, certificates: [lab.signer().certificate, ...parts.certificates] }) },
  })),
  of('the root among the certificates', (lab) => ({
    seams: { token: (parts) => ({ ...parts, certificates: [...parts.certificates, lab.pki.root.certificate] }) },
  })),
  of('revocation lists in the token', (lab) => ({
    seams: { token: (parts) => ({ ...parts, crls: revocationLists(lab, LAB_NOW_MS, {}) }) },
  })),
  of('algorithm protection (RFC 6211)', (lab) => ({
    seams: {
      attributes: (attributes) => {
        const { digest, cmsAlgorithm } = lab.pki.signer.scheme;
        const value = sequence(digestIdentifier(digest), retag(0xa1, cmsAlgorithm));
        return [...attributes, { type: OID.cmsAlgorithmProtection, values: [value] }];
      },
    },
  })),
  of('a signed attribute that nobody knows', {
    seams: { attributes: (attributes) => [...attributes, { type: '2.999.3161.3', values: [utf8String('hello')] }] },
  }),
  of('the signer named by its subject key identifier', (lab) => ({
    seams: {
      signer: (signer) => ({ ...signer, version: 3, sid: contextPrimitive(0, keyIdentifier(createPublicKey(lab.pki.signer.privateKey))) }),
    },
  })),
  of('SHA-256 with NULL parameters as digestAlgorithm', {
    seams: { signer: (signer) => ({ ...signer, digestAlgorithm: sequence(objectIdentifier(OID.sha256), nullValue()) }) },
  }),
  signingCertificate(
    'ESSCertID of SHA-1 (RFC 2634)',
    (s) => sequence(sequence(sequence(octetString(digestData('sha1', s.certificate))))),
    OID.signingCertificate,
  ),
  signingCertificate('ESSCertIDv2 without issuerSerial', (s) =>
    sequence(sequence(sequence(octetString(digestData('sha256', s.certificate))))),
  ),
  signingCertificate('issuerSerial with the issuer’s name in another string type', (s) =>
    encodeSigningCertificateV2(digestData('sha256', s.certificate), asPrintable(s.issuerName), s.serialNumber),
  ),
  signingCertificate('ESSCertIDv2 of SHA-512', (s) =>
    encodeSigningCertificateV2(digestData('sha512', s.certificate), s.issuerName, s.serialNumber, sequence(objectIdentifier(OID.sha512))),
  ),
  signingCertificate('ESSCertIDv2 that spells out the default SHA-256, as some TSAs do', (s) =>
    encodeSigningCertificateV2(
      digestData('sha256', s.certificate),
      s.issuerName,
      s.serialNumber,
      sequence(objectIdentifier(OID.sha256), nullValue()),
    ),
  ),
  { name: 'an intermediate CA for timeStamping', make: (lab) => below(lab, { extensions: [extendedKeyUsage([OID.timeStamping], false)] }) },
  {
    name: 'an intermediate CA for any purpose',
    make: (lab) => below(lab, { extensions: [extendedKeyUsage([OID.anyExtendedKeyUsage], false)] }),
  },
  of('two intermediate CAs', (lab) => {
    const nowMs = LAB_NOW_MS - 30 * DAY_MS;
    const second = issueIntermediate(lab.pki.intermediate, { algorithm: 'p-384', nowMs, commonName: 'Second CA' });
    return { profile: { identity: issueSigner(second, { nowMs }) } };
  }),
  of('a signer directly under the root', (lab) => ({ profile: { identity: issueSigner(lab.pki.root, { nowMs: LAB_NOW_MS - DAY_MS }) } })),
  of('every certificate expired since genTime (43)', { nowMs: LAB_NOW_MS + 200 * 365 * DAY_MS, withoutRequest: true }),
  of('lists that revoke nobody', (lab) => ({ crls: revocationLists(lab, LAB_NOW_MS, {}) })),
  of('the signer superseded after genTime (44)', (lab) => ({
    nowMs: LAB_NOW_MS + DAY_MS,
    withoutRequest: true,
    crls: revocationLists(lab, LAB_NOW_MS + 3_600_000, { signer: true }, 4),
  })),
];

/** Right as well, but OpenSSL 3.0 cannot read them, or wants to be told that an anchor need not be a root. */
export const WIDER_VARIANTS: readonly Case[] = [
  of('an attribute certificate beside the others, named by the signing certificate attribute', (lab) => {
    const attributeCertificate = contextConstructed(1, sequence(sequence(integer(1))));
    const id = (certificate: Buffer) => sequence(octetString(digestData('sha256', certificate)));
    return {
      seams: {
        attributes: (attributes) =>
          attributes.map((a) =>
            a.type === OID.signingCertificateV2
              ? { ...a, values: [sequence(sequence(id(lab.pki.signer.certificate), id(attributeCertificate)))] }
              : a,
          ),
        token: (parts) => ({ ...parts, certificates: [...parts.certificates, attributeCertificate] }),
      },
    };
  }),
  of('an attribute certificate of version 2', {
    seams: { token: (parts) => ({ ...parts, version: 4, certificates: [...parts.certificates, contextConstructed(2, sequence())] }) },
  }),
  of('a certificate of another form, and an OCSP response', {
    seams: {
      token: (parts) => ({
        ...parts,
        version: 5,
        certificates: [...parts.certificates, contextConstructed(3, sequence())],
        crls: [contextConstructed(1, objectIdentifier('1.3.6.1.5.5.7.16.2'), sequence())],
      }),
    },
  }),
  of('nearly a megabyte of revocation data', {
    seams: {
      token: (parts) => ({
        ...parts,
        crls: [sequence(sequence(...Array.from({ length: 30_000 }, (_, i) => sequence(integer(i), CRL_TIME))))],
      }),
    },
  }),
  of('certificates that nobody needs: of others, unreadable, and another of the CA’s name', (lab) => {
    const others = [createPki({ nowMs: LAB_NOW_MS - DAY_MS }), createPki({ nowMs: LAB_NOW_MS - DAY_MS })];
    const strays = others.flatMap(({ root, intermediate, signer }) => [root, intermediate, signer].map(({ certificate }) => certificate));
    return {
      seams: { token: (parts) => ({ ...parts, certificates: [...strays, sequence(), ...parts.certificates, lab.pki.root.certificate] }) },
    };
  }),
  of('the signer’s own certificate is the trust anchor', (lab) => ({ anchors: [lab.pki.signer.certificate] })),
  of('the issuing CA is the trust anchor', (lab) => ({ anchors: [lab.pki.intermediate.certificate] })),
];
