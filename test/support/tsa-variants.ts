import { createPublicKey } from 'node:crypto';
import { contentsOf, derOf, parseDer, TAG } from '../../src/shared/rfc3161/asn1/der.ts';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { directoryName, encodeSigningCertificateV2 } from '../../src/shared/rfc3161/issue/encode.ts';
import { SCHEMES } from '../../src/shared/rfc3161/issue/sign.ts';
import { digestData, digestIdentifier } from '../../src/shared/rfc3161/x509/algorithms.ts';
import { basicConstraints, createPki, extendedKeyUsage, extension, issueIntermediate, issueSigner, keyIdentifier } from './certificates.ts';
import { ca, caUsage, pathLength } from './chain-lab.ts';
import {
  attribute,
  attributes,
  fields,
  type GoodRow,
  good,
  moreCertificates,
  response,
  signedBy,
  signerInfo,
  signingCertificate,
  token,
  tstInfo,
} from './tsa-changes.ts';
import { status } from './tsa-faults-answer.ts';
import { belowRoot, chainOf, issuerCalled, resigned, usedBetween } from './tsa-faults-certificate.ts';
import { belowCa, revocationLists, rsaSha1Key } from './tsa-faults-chain.ts';
import { byKeyIdentifier, essV1 } from './tsa-faults-cms.ts';
import { accuracyOf } from './tsa-faults-tstinfo.ts';
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
const fraction = (text: string): GoodRow => [`genTime with the fraction ${text}`, fields({ genTime: `20261121120000.${text}Z` })];
const idOf = (hash: 'sha1' | 'sha256', certificate: Buffer) => der.sequence(der.octetString(digestData(hash, certificate)));

const USUAL = [basicConstraints(true), caUsage];
const criticalPolicies = extension('2.5.29.32', true, der.sequence(der.sequence(oid('2.999.1'))));
const inLowerCase = (name: Buffer) => Buffer.from(name.toString('latin1').replace('TSA', 'tsa'), 'latin1');

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

const goodRows: readonly GoodRow[] = [
  ['nothing unusual', {}],
  ['no accuracy', fields({ accuracy: undefined })],
  ['accuracy in seconds, millis and micros', { profile: { accuracy: { seconds: 1, millis: 999, micros: 1 } } }],
  ['ordering TRUE', { profile: { ordering: true } }],
  ['TSTInfo.tsa is the signer', { profile: { includeTsaName: true } }],
  ['signingTime', { profile: { includeSigningTime: true } }],
  ['no nonce was asked for', { ask: { nonce: undefined } }],
  ['a failInfo in which no bit is set', response({ failInfo: [] })],
  ['a negative serial number', fields({ serial: -5n })],
  ['a negative serial number of 160 bits', fields({ serial: 1n - (1n << 160n) })],
  ['SignedData of version 1', token({ version: 1 })],
  ['SignerInfo of version 3, although it has an issuer and a serial number', signerInfo({ version: 3 })],
  ['text of the TSA in UTF-8', status(der.integer(0), der.sequence(der.utf8String('Tout va bien')))],
  ...[0, 2, 4, -2].map((version): GoodRow => [`SignerInfo of version ${version}`, signerInfo({ version })]),
  ...[0, 4, 5, -3].map((version): GoodRow => [`SignedData of version ${version}`, token({ version })]),
  ['256 certificates', ({ pki }) => moreCertificates(...Array<Buffer>(254).fill(pki.signer.certificate))],
  ['a negative nonce', { ask: { nonce: -5n } }],
  ['a nonce of 160 bits', { ask: { nonce: 1n << 159n } }],
  ['NULL parameters of the digest', { ask: { nullParameters: true } }],
  ['SHA-384 imprint', { ask: { hash: 'sha384' } }],
  ['SHA-512 imprint', { ask: { hash: 'sha512' } }],
  ['the policy that was asked for', { ask: { policy: '2.999.7.1' } }],
  fraction('1'),
  fraction('123456'),
  fraction('123456789'),
  fraction('000000000123456789'),
  fraction(`${'0'.repeat(120)}1`),
  ['genTime without a fraction', { timeMs: Math.floor(LAB_NOW_MS / 1000) * 1000 }],
  ['a TSTInfo extension that nobody knows and that is not critical', fields({ extensions: [extension('2.999.3161.14', false, NULL)] })],
  [
    'a TSTInfo extension that spells out that it is not critical',
    fields({ extensions: [der.sequence(oid('2.999.3161.14'), der.boolean(false), der.octetString(NULL))] }),
  ],
  [
    'ordering spelled out as FALSE',
    {
      ask: { nonce: undefined },
      // ordering is the last field if there is no nonce.
      ...tstInfo((info) => der.sequence(contentsOf(parseDer(info)), der.boolean(false))),
    },
  ],
  ['unsigned attributes that are nobody’s business', signerInfo({ unsignedAttributes: [{ type: '2.999.3161.5', values: [HELLO] }] })],
  ['a CA whose distribution points are critical', (lab) => belowCa(lab, { extensions: [criticalPoints] })],
  ['certificates in another order', token(({ certificates }) => ({ certificates: [...certificates].reverse() }))],
  [
    'another TSA certificate before the signer’s (30)',
    (lab) => token(({ certificates }) => ({ certificates: [lab.signer().certificate, ...certificates] })),
  ],
  ['the root among the certificates', (lab) => moreCertificates(lab.pki.root.certificate)],
  ['revocation lists in the token', (lab) => token({ crls: revocationLists(lab, LAB_NOW_MS, {}) })],
  ['algorithm protection (RFC 6211)', algorithmProtection],
  ['a signed attribute that nobody knows', attributes((all) => [...all, { type: '2.999.3161.3', values: [HELLO] }])],
  ['SHA-256 with NULL parameters as digestAlgorithm', signerInfo({ digestAlgorithm: der.sequence(oid(OID.sha256), NULL) })],
  ['ESSCertID of SHA-1 (RFC 2634)', ({ pki }) => attribute(OID.signingCertificateV2, () => [essV1(pki.signer)])],
  ['ESSCertIDv2 without issuerSerial', ({ pki }) => signingCertificate(der.sequence(der.sequence(idOf('sha256', pki.signer.certificate))))],
  [
    'issuerSerial with the issuer’s name in another string type',
    ({ pki: { signer: s } }) =>
      signingCertificate(encodeSigningCertificateV2(digestData('sha256', s.certificate), asPrintable(s.issuerName), s.serialNumber)),
  ],
  ['ESSCertID of SHA-1 beside ESSCertIDv2', ({ pki }) => attributes((all) => [...all, essV1(pki.signer)])],
  essCertIdV2('ESSCertIDv2 of SHA-512', 'sha512', der.sequence(oid(OID.sha512))),
  essCertIdV2('ESSCertIDv2 that spells out the default SHA-256, as some TSAs do', 'sha256', der.sequence(oid(OID.sha256), NULL)),
  ['an intermediate CA for timeStamping', (lab) => belowCa(lab, { extensions: [extendedKeyUsage([OID.timeStamping], false)] })],
  ['an intermediate CA for any purpose', (lab) => belowCa(lab, { extensions: [extendedKeyUsage([OID.anyExtendedKeyUsage], false)] })],
  ['two intermediate CAs', twoIntermediates],
  ['a CA below a CA that allows one', () => chainOf([[pathLength(1), caUsage], USUAL])],
  ['a signer below a CA that allows no CA', () => chainOf([USUAL, [pathLength(0), caUsage]])],
  ['a root without basicConstraints whose key may certify', () => chainOf([[caUsage]])],
  ['critical certificate policies of a CA', () => chainOf([USUAL, [...USUAL, criticalPolicies]])],
  ['the issuer’s name in another string type, case and spacing', () => issuerCalled(der.tlv(0x13, Buffer.from('root of the World')))],
  ['TSTInfo.tsa in lower case', ({ pki: { signer: s } }) => fields({ tsa: directoryName(inLowerCase(s.subjectName)) })],
  [
    'a root signed with SHA-1 that signs with SHA-256',
    () => belowRoot({ ...ca(undefined, { key: rsaSha1Key() }), scheme: SCHEMES.rsaSha256 }),
  ],
  ['a certificate signed again', resigned(() => undefined)],
  ...[-1, undefined].flatMap((from) =>
    [1, undefined].map(
      (to): GoodRow => [`a key to be used from day ${from} to ${to}`, (lab) => signedBy(lab.signer(usedBetween(from, to)))],
    ),
  ),
  ['SHA-512 announced beside SHA-256', token(({ digestAlgorithms: all }) => ({ digestAlgorithms: [digestIdentifier('sha512'), ...all] }))],
  ['accuracy of which the millis are one octet', accuracyOf(der.integer(1), der.contextPrimitive(0, Buffer.from([5])))],
  ['a signer directly under the root', (lab) => signedBy(issueSigner(lab.pki.root, { nowMs: DAY_BEFORE_MS }))],
  ['every certificate expired since genTime (43)', { nowMs: LAB_NOW_MS + 200 * 365 * DAY_MS, withoutRequest: true }],
  ['lists that revoke nobody', (lab) => ({ crls: revocationLists(lab, LAB_NOW_MS, {}) })],
  [
    'the signer superseded after genTime (44)',
    (lab) => ({
      nowMs: LAB_NOW_MS + DAY_MS,
      withoutRequest: true,
      crls: revocationLists(lab, LAB_NOW_MS + 3_600_000, { signer: true }, 4),
    }),
  ],
];

/** A CA that allows no CA below it, and its next certificate for a new key. */
function rollover(): SpecimenOptions {
  const limited = ca(undefined, { name: 'Rollover', extensions: [pathLength(0), caUsage] });
  const renewed = ca(limited, { name: 'Rollover', serial: 8n });
  return { ...belowRoot(limited, renewed), ...moreCertificates(renewed.certificate) };
}

function essCertIdV2(name: string, hash: 'sha256' | 'sha512', algorithm: Buffer): GoodRow {
  return [
    name,
    ({ pki: { signer: s } }) =>
      signingCertificate(encodeSigningCertificateV2(digestData(hash, s.certificate), s.issuerName, s.serialNumber, algorithm)),
  ];
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

const widerRows: readonly GoodRow[] = [
  [
    'the signer named by its subject key identifier',
    (lab) => signerInfo({ version: 3, sid: der.contextPrimitive(0, keyIdentifier(createPublicKey(lab.pki.signer.privateKey))) }),
  ],
  ['two copies of the certificate with this subject key identifier', (lab) => byKeyIdentifier(lab, 3, (own) => [own])],
  ['a subject key identifier in a SignerInfo of version 1', (lab) => byKeyIdentifier(lab, 1, () => [])],
  ['a certificate that a CA issued to itself, which does not count (RFC 5280 §6.1.4 (l))', rollover],
  ['an attribute certificate beside the others, named by the signing certificate attribute', attributeCertificateNamed],
  [
    'an attribute certificate of version 2',
    token(({ certificates }) => ({ version: 4, certificates: [...certificates, der.contextConstructed(2, der.sequence())] })),
  ],
  [
    'a certificate of another form, and an OCSP response',
    token(({ certificates }) => ({
      version: 5,
      certificates: [...certificates, der.contextConstructed(3, der.sequence())],
      crls: [der.contextConstructed(1, oid('1.3.6.1.5.5.7.16.2'), der.sequence())],
    })),
  ],
  ['nearly a megabyte of revocation data', token({ crls: [der.sequence(der.sequence(...crlEntries()))] })],
  ['certificates that nobody needs: of others, unreadable, and another of the CA’s name', strayCertificates],
  ['the signer’s own certificate is the trust anchor', (lab) => ({ anchors: [lab.pki.signer.certificate] })],
  ['the issuing CA is the trust anchor', (lab) => ({ anchors: [lab.pki.intermediate.certificate] })],
];

const casesOf = (rows: readonly GoodRow[]) => rows.map((row): Case => good(...row));
export const GOOD_VARIANTS = casesOf(goodRows);
/** Also correct, but OpenSSL 3.0 reads them as PKCS #7 and so cannot, or needs an option to accept an anchor that is not a root. */
export const WIDER_VARIANTS = casesOf(widerRows);
