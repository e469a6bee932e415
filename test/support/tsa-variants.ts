import { createPublicKey } from 'node:crypto';
import { contentsOf, derOf, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { TAG } from '../../src/shared/rfc3161/asn1/tags.ts';
import { encodeSigningCertificateV2 } from '../../src/shared/rfc3161/issue/encode.ts';
import { digestData, digestIdentifier } from '../../src/shared/rfc3161/x509/digests.ts';
import { extendedKeyUsage, extension, keyIdentifier } from '../../src/tsa/certificate.ts';
import { createPki, issueIntermediate, issueSigner } from '../../src/tsa/pki.ts';
import {
  attributes,
  fields,
  good,
  moreCertificates,
  response,
  signedBy,
  signerInfo,
  signingCertificate,
  token,
  tstInfo,
} from './tsa-changes.ts';
import { below, revocationLists } from './tsa-faults-chain.ts';
import { type Case, DAY_MS, LAB_NOW_MS, type SpecimenOptions, type TsaLab } from './tsa-lab.ts';

/** Unusual but correct answers: a verifier that refuses one of them refuses real TSAs. */

/** The same name with PrintableString instead of UTF8String. */
const asPrintable = (name: Buffer): Buffer =>
  der.sequence(
    ...parseDer(name).children.map((set) =>
      der.setOf(
        ...set.children.map(({ children: [type, value] }) => der.sequence(derOf(type!), der.tlv(TAG.printableString, contentsOf(value!)))),
      ),
    ),
  );

const NULL = der.nullValue();
const oid = (text: string) => der.objectIdentifier(text);
const HELLO = der.utf8String('hello');
const DAY_BEFORE_MS = LAB_NOW_MS - DAY_MS;
const fraction = (text: string) => good(`genTime with the fraction ${text}`, fields({ genTime: `20261121120000.${text}Z` }));
const idOf = (hash: 'sha1' | 'sha256', certificate: Buffer) => der.sequence(der.octetString(digestData(hash, certificate)));

const criticalPoints = (() => {
  const uri = der.contextPrimitive(6, Buffer.from('http://ca.example/list.crl'));
  const name = der.contextConstructed(0, der.contextConstructed(0, uri));
  return extension(OID.cRLDistributionPoints, true, der.sequence(der.sequence(name)));
})();

function algorithmProtection({ pki }: TsaLab): SpecimenOptions {
  const { digest, cmsAlgorithm } = pki.signer.scheme;
  const value = der.sequence(digestIdentifier(digest), der.retag(0xa1, cmsAlgorithm));
  return attributes((all) => [...all, { type: OID.cmsAlgorithmProtection, values: [value] }]);
}

function twoIntermediates({ pki }: TsaLab): SpecimenOptions {
  const nowMs = LAB_NOW_MS - 30 * DAY_MS;
  const second = issueIntermediate(pki.intermediate, { algorithm: 'p-384', nowMs, commonName: 'Second CA' });
  return signedBy(issueSigner(second, { nowMs }));
}

export const GOOD_VARIANTS: readonly Case[] = [
  good('nothing unusual', {}),
  good('no accuracy', fields({ accuracy: undefined })),
  good('accuracy in seconds, millis and micros', { profile: { accuracy: { seconds: 1, millis: 999, micros: 1 } } }),
  good('ordering TRUE', { profile: { ordering: true } }),
  good('TSTInfo.tsa is the signer', { profile: { includeTsaName: true } }),
  good('signingTime', { profile: { includeSigningTime: true } }),
  good('no nonce was asked for', { ask: { nonce: undefined } }),
  good('a failInfo in which no bit is set', response({ failInfo: [] })),
  good('a negative serial number', fields({ serial: -5n })),
  good('a negative serial number of 160 bits', fields({ serial: 1n - (1n << 160n) })),
  good('SignedData of version 1', token({ version: 1 })),
  good('SignerInfo of version 3, although it has an issuer and a serial number', signerInfo({ version: 3 })),
  good('a negative nonce', { ask: { nonce: -5n } }),
  good('a nonce of 160 bits', { ask: { nonce: 1n << 159n } }),
  good('NULL parameters of the digest', { ask: { nullParameters: true } }),
  good('SHA-384 imprint', { ask: { hash: 'sha384' } }),
  good('SHA-512 imprint', { ask: { hash: 'sha512' } }),
  good('the policy that was asked for', { ask: { policy: '2.999.7.1' } }),
  fraction('1'),
  fraction('123456'),
  fraction('123456789'),
  fraction('000000000123456789'),
  fraction(`${'0'.repeat(120)}1`),
  good('genTime without a fraction', { timeMs: Math.floor(LAB_NOW_MS / 1000) * 1000 }),
  good('a TSTInfo extension that nobody knows and that is not critical', fields({ extensions: [extension('2.999.3161.14', false, NULL)] })),
  good(
    'a TSTInfo extension that spells out that it is not critical',
    fields({ extensions: [der.sequence(oid('2.999.3161.14'), der.boolean(false), der.octetString(NULL))] }),
  ),
  good('ordering spelled out as FALSE', {
    ask: { nonce: undefined },
    // ordering is the last field if there is no nonce.
    ...tstInfo((info) => der.sequence(contentsOf(parseDer(info)), der.boolean(false))),
  }),
  good('unsigned attributes that are nobody’s business', signerInfo({ unsignedAttributes: [{ type: '2.999.3161.5', values: [HELLO] }] })),
  good('a CA whose distribution points are critical', (lab) => below(lab, { extensions: [criticalPoints] })),
  good(
    'certificates in another order',
    token(({ certificates }) => ({ certificates: [...certificates].reverse() })),
  ),
  good('another TSA certificate before the signer’s (30)', (lab) =>
    token(({ certificates }) => ({ certificates: [lab.signer().certificate, ...certificates] })),
  ),
  good('the root among the certificates', (lab) => moreCertificates(lab.pki.root.certificate)),
  good('revocation lists in the token', (lab) => token({ crls: revocationLists(lab, LAB_NOW_MS, {}) })),
  good('algorithm protection (RFC 6211)', algorithmProtection),
  good(
    'a signed attribute that nobody knows',
    attributes((all) => [...all, { type: '2.999.3161.3', values: [HELLO] }]),
  ),
  good('SHA-256 with NULL parameters as digestAlgorithm', signerInfo({ digestAlgorithm: der.sequence(oid(OID.sha256), NULL) })),
  good('ESSCertID of SHA-1 (RFC 2634)', ({ pki }) =>
    signingCertificate(der.sequence(der.sequence(idOf('sha1', pki.signer.certificate))), OID.signingCertificate),
  ),
  good('ESSCertIDv2 without issuerSerial', ({ pki }) =>
    signingCertificate(der.sequence(der.sequence(idOf('sha256', pki.signer.certificate)))),
  ),
  good('issuerSerial with the issuer’s name in another string type', ({ pki: { signer: s } }) =>
    signingCertificate(encodeSigningCertificateV2(digestData('sha256', s.certificate), asPrintable(s.issuerName), s.serialNumber)),
  ),
  essCertIdV2('ESSCertIDv2 of SHA-512', 'sha512', der.sequence(oid(OID.sha512))),
  essCertIdV2('ESSCertIDv2 that spells out the default SHA-256, as some TSAs do', 'sha256', der.sequence(oid(OID.sha256), NULL)),
  good('an intermediate CA for timeStamping', (lab) => below(lab, { extensions: [extendedKeyUsage([OID.timeStamping], false)] })),
  good('an intermediate CA for any purpose', (lab) => below(lab, { extensions: [extendedKeyUsage([OID.anyExtendedKeyUsage], false)] })),
  good('two intermediate CAs', twoIntermediates),
  good('a signer directly under the root', (lab) => signedBy(issueSigner(lab.pki.root, { nowMs: DAY_BEFORE_MS }))),
  good('every certificate expired since genTime (43)', { nowMs: LAB_NOW_MS + 200 * 365 * DAY_MS, withoutRequest: true }),
  good('lists that revoke nobody', (lab) => ({ crls: revocationLists(lab, LAB_NOW_MS, {}) })),
  good('the signer superseded after genTime (44)', (lab) => ({
    nowMs: LAB_NOW_MS + DAY_MS,
    withoutRequest: true,
    crls: revocationLists(lab, LAB_NOW_MS + 3_600_000, { signer: true }, 4),
  })),
];

function essCertIdV2(name: string, hash: 'sha256' | 'sha512', algorithm: Buffer): Case {
  return good(name, ({ pki: { signer: s } }) =>
    signingCertificate(encodeSigningCertificateV2(digestData(hash, s.certificate), s.issuerName, s.serialNumber, algorithm)),
  );
}

const crlEntries = () => {
  const time = der.utcTime('261121120000Z');
  return Array.from({ length: 30_000 }, (_, i) => der.sequence(der.integer(i), time));
};

function attributeCertificateNamed({ pki }: TsaLab): SpecimenOptions {
  const certificate = der.contextConstructed(1, der.sequence(der.sequence(der.integer(1))));
  const ids = der.sequence(der.sequence(idOf('sha256', pki.signer.certificate), idOf('sha256', certificate)));
  return { seams: { ...signingCertificate(ids).seams, ...moreCertificates(certificate).seams } };
}

function strayCertificates({ pki }: TsaLab): SpecimenOptions {
  const others = [createPki({ nowMs: DAY_BEFORE_MS }), createPki({ nowMs: DAY_BEFORE_MS })];
  const strays = others.flatMap(({ root, intermediate, signer }) => [root, intermediate, signer].map(({ certificate }) => certificate));
  return token(({ certificates }) => ({ certificates: [...strays, der.sequence(), ...certificates, pki.root.certificate] }));
}

/** Also correct, but OpenSSL 3.0 reads them as PKCS #7 and so cannot, or needs an option to accept an anchor that is not a root. */
export const WIDER_VARIANTS: readonly Case[] = [
  good('the signer named by its subject key identifier', (lab) =>
    signerInfo({ version: 3, sid: der.contextPrimitive(0, keyIdentifier(createPublicKey(lab.pki.signer.privateKey))) }),
  ),
  good('an attribute certificate beside the others, named by the signing certificate attribute', attributeCertificateNamed),
  good(
    'an attribute certificate of version 2',
    token(({ certificates }) => ({ version: 4, certificates: [...certificates, der.contextConstructed(2, der.sequence())] })),
  ),
  good(
    'a certificate of another form, and an OCSP response',
    token(({ certificates }) => ({
      version: 5,
      certificates: [...certificates, der.contextConstructed(3, der.sequence())],
      crls: [der.contextConstructed(1, oid('1.3.6.1.5.5.7.16.2'), der.sequence())],
    })),
  ),
  good('nearly a megabyte of revocation data', token({ crls: [der.sequence(der.sequence(...crlEntries()))] })),
  good('certificates that nobody needs: of others, unreadable, and another of the CA’s name', strayCertificates),
  good('the signer’s own certificate is the trust anchor', (lab) => ({ anchors: [lab.pki.signer.certificate] })),
  good('the issuing CA is the trust anchor', (lab) => ({ anchors: [lab.pki.intermediate.certificate] })),
];
