import { sign } from 'node:crypto';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import * as der from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { directoryName } from '../../src/shared/rfc3161/issue/encode.ts';
import type { SigningIdentity } from '../../src/shared/rfc3161/issue/issue.ts';
import { SCHEMES, type SignatureScheme } from '../../src/shared/rfc3161/issue/sign.ts';
import * as x509 from './certificates.ts';
import { createPki, type IntermediateOptions, issueIntermediate, issueSigner, type SignerOptions } from './certificates.ts';
import { rsaKey } from './rsa-keys.ts';
import { type FaultRow, fields, moreCertificates, signedBy, signerInfo, token } from './tsa-changes.ts';
import { DAY_MS, LAB_NOW_MS, type SpecimenOptions, type TsaLab } from './tsa-lab.ts';

/** Refusals 37–46: the signer's certificate and everything above it. The token itself is signed correctly. */

const CERTIFIED_MS = LAB_NOW_MS - 365 * DAY_MS;

export const signer = (code: ReasonCode, name: string, options: SignerOptions, opensslAccepts?: boolean): FaultRow => [
  code,
  name,
  (lab) => signedBy(lab.signer(options)),
  opensslAccepts,
];
export const extensions = (...list: readonly Buffer[]): SignerOptions => ({ extensions: () => list });
export const timeStamping = x509.extendedKeyUsage([OID.timeStamping]);
export const endEntity = [x509.basicConstraints(false), x509.keyUsage(x509.KEY_USAGE.digitalSignature)];
export const purposes = (...oids: readonly string[]) => extensions(...endEntity, x509.extendedKeyUsage(oids));
const caUsage = x509.keyUsage(x509.KEY_USAGE.digitalSignature, x509.KEY_USAGE.keyCertSign);

/** Signed below a separate intermediate CA. */
export function belowCa(lab: TsaLab, intermediate: Omit<IntermediateOptions, 'algorithm' | 'nowMs'>): SpecimenOptions {
  const issuer = issueIntermediate(lab.pki.root, { algorithm: 'p-256', nowMs: CERTIFIED_MS, ...intermediate });
  return signedBy(issueSigner(issuer, { nowMs: CERTIFIED_MS }));
}

/** Lists of the intermediate CA and of the root, with their revocations. */
export function revocationLists(lab: TsaLab, revokedAtMs: number, of: { signer?: boolean; intermediate?: boolean }, reason = 1): Buffer[] {
  const template = { number: 1n, thisUpdateMs: LAB_NOW_MS - 1000, nextUpdateMs: LAB_NOW_MS + DAY_MS };
  const entry = (serialNumber: Buffer) => ({ serialNumber, revokedAtMs, reason });
  const { pki } = lab;
  return [
    x509.issueCrl({ ...template, revoked: of.signer ? [entry(pki.signer.serialNumber)] : [] }, pki.intermediate),
    x509.issueCrl({ ...template, revoked: of.intermediate ? [entry(pki.intermediate.serialNumber)] : [] }, pki.root),
  ];
}

const policies = (policy: string) =>
  x509.extension(OID.certificatePolicies, false, der.sequence(der.sequence(der.objectIdentifier(policy))));
const requireExplicitPolicy = (after: number) =>
  x509.extension(OID.policyConstraints, true, der.sequence(der.contextPrimitive(0, Buffer.from([after]))));
const permittedNames = (name: Buffer) =>
  x509.extension(OID.nameConstraints, true, der.sequence(der.contextConstructed(0, der.sequence(directoryName(name)))));
const distinguishedName = (organisation: string) =>
  der.sequence(der.setOf(der.sequence(der.objectIdentifier(OID.organizationName), der.utf8String(organisation))));

function selfCertified(): SigningIdentity {
  const period = { notBeforeMs: CERTIFIED_MS, notAfterMs: LAB_NOW_MS + DAY_MS };
  const template = { commonName: 'Self', serial: 1n, ...period, extensions: [...endEntity, timeStamping] };
  return x509.issueCertificate(template, x509.generateSigningKey('p-256'));
}

const ecdsaSha1: SignatureScheme = {
  ...SCHEMES.ecdsaSha256,
  digest: 'sha1',
  cmsAlgorithm: der.sequence(der.objectIdentifier(OID.ecdsaWithSha1)),
  sign: (data, key) => sign('sha1', data, key),
};
const rsaSha1: SignatureScheme = {
  digest: 'sha1',
  certificateAlgorithm: der.sequence(der.objectIdentifier(OID.sha1WithRsa), der.nullValue()),
  cmsAlgorithm: der.sequence(der.objectIdentifier(OID.sha1WithRsa), der.nullValue()),
  sign: (data, key) => sign('sha1', data, key),
};
/** A key for certificates signed with SHA-1. */
export const rsaSha1Key = (): x509.SigningKey => ({ ...rsaKey('rsa'), scheme: rsaSha1 });

const revoked = (name: string, of: { signer?: boolean; intermediate?: boolean }): FaultRow => [
  'certificate_revoked',
  name,
  (lab) => ({ crls: revocationLists(lab, LAB_NOW_MS - DAY_MS, of) }),
];

function certifiedWithSha1({ pki }: TsaLab): SpecimenOptions {
  const ca = { ...issueIntermediate(pki.root, { algorithm: 'rsa-2048', nowMs: CERTIFIED_MS }), scheme: rsaSha1 };
  return signedBy(issueSigner(ca, { nowMs: CERTIFIED_MS }));
}

export const CERTIFICATE_FAULTS: readonly FaultRow[] = [
  signer('eku_missing', 'no extended key usage', extensions(...endEntity)),
  signer('eku_missing', 'no extensions but basicConstraints', extensions(x509.basicConstraints(false))),
  signer('eku_missing', 'extended key usage for something else only', purposes(OID.serverAuth)),
  signer('eku_missing', 'anyExtendedKeyUsage only', purposes(OID.anyExtendedKeyUsage)),
  signer('eku_not_critical', 'extended key usage not critical', extensions(...endEntity, x509.extendedKeyUsage([OID.timeStamping], false))),
  signer('eku_other_purpose', 'codeSigning beside timeStamping', purposes(OID.timeStamping, OID.codeSigning)),
  signer('eku_other_purpose', 'serverAuth before timeStamping', purposes(OID.serverAuth, OID.timeStamping)),
  signer('eku_other_purpose', 'anyExtendedKeyUsage beside timeStamping', purposes(OID.timeStamping, OID.anyExtendedKeyUsage)),
  signer('eku_other_purpose', 'a purpose that nobody knows beside timeStamping', purposes(OID.timeStamping, '2.999.3161.39'), true),
  signer('signer_is_ca', 'the signer is a CA', extensions(x509.basicConstraints(true), caUsage, timeStamping)),
  signer('signer_key_usage', 'a key for key agreement only', extensions(x509.basicConstraints(false), x509.keyUsage(4), timeStamping)),
  signer(
    'certificate_extension',
    'a critical extension of the signer that nobody knows',
    extensions(...endEntity, timeStamping, x509.extension('2.999.3161.5', true, der.nullValue())),
  ),
  [
    'intermediate_eku',
    'an intermediate CA for serverAuth only',
    (lab) => belowCa(lab, { extensions: [x509.extendedKeyUsage([OID.serverAuth], false)] }),
  ],

  ['untrusted_root', 'a root that is not trusted, with the trusted one’s name', () => signedBy(createPki({ nowMs: CERTIFIED_MS }).signer)],
  [
    'untrusted_root',
    'a root that is not trusted but is in the token',
    () => {
      const other = createPki({ nowMs: CERTIFIED_MS });
      return { ...signedBy(other.signer), ...moreCertificates(other.root.certificate) };
    },
  ],
  ['untrusted_root', 'a signer that certified itself', () => signedBy(selfCertified())],
  ['untrusted_root', 'the intermediate CA is missing', (lab) => token({ certificates: [lab.pki.signer.certificate] })],
  ['trust_store_empty', 'no trust anchor at all', { anchors: [] }],
  ['issuer_not_ca', 'issued by a certificate that is no CA', (lab) => signedBy(issueSigner(lab.pki.signer, { nowMs: CERTIFIED_MS }))],
  signer('certificate_not_valid_at_gen_time', 'the signer expired a day before genTime', {
    notBeforeMs: CERTIFIED_MS,
    notAfterMs: LAB_NOW_MS - DAY_MS,
  }),
  signer('certificate_not_valid_at_gen_time', 'the signer is valid from a day after genTime', { notBeforeMs: LAB_NOW_MS + DAY_MS }),
  [
    'certificate_not_valid_at_gen_time',
    'the intermediate CA expired a day before genTime',
    (lab) => belowCa(lab, { notAfterMs: LAB_NOW_MS - DAY_MS }),
  ],
  [
    'certificate_policy',
    'a CA that requires a policy which the signer does not name',
    (lab) => belowCa(lab, { extensions: [policies('2.999.1'), requireExplicitPolicy(0)] }),
  ],
  [
    'certificate_name',
    'a CA that may certify another organisation only',
    (lab) => belowCa(lab, { extensions: [permittedNames(distinguishedName('Another organisation'))] }),
  ],
  revoked('the signer was revoked a day before genTime', { signer: true }),
  revoked('the intermediate CA was revoked a day before genTime', { intermediate: true }),

  ['tsa_name_mismatch', 'TSTInfo.tsa is the name of the CA', (lab) => fields({ tsa: directoryName(lab.pki.intermediate.subjectName) })],
  [
    'tsa_name_mismatch',
    'TSTInfo.tsa is an e-mail address that the certificate does not have',
    fields({ tsa: der.contextPrimitive(1, der.ia5String('tsa@example.com').subarray(2)) }),
  ],

  signer('key_too_weak', 'an RSA key of 1 024 bits', { key: { ...rsaKey('rsa-1024'), scheme: SCHEMES.rsaSha256 } }),
  signer('signature_algorithm_weak', 'sha1WithRSAEncryption over the attributes', { key: rsaSha1Key() }),
  ['signature_algorithm_weak', 'a certificate signed with SHA-1', certifiedWithSha1],
  [
    'signature_algorithm_unknown',
    'a signature algorithm that nobody knows',
    signerInfo({ signatureAlgorithm: der.sequence(der.objectIdentifier('2.999.3161.46')) }),
  ],
  ['signature_algorithm_weak', 'the signature called ecdsa-with-SHA1', signerInfo({ signatureAlgorithm: ecdsaSha1.cmsAlgorithm })],
  [
    'signature_algorithm_mismatch',
    'the signature called RSA although the key is not',
    signerInfo({ signatureAlgorithm: SCHEMES.rsaSha256.certificateAlgorithm }),
  ],
  [
    'signature_algorithm_weak',
    'attributes digested and signed with ECDSA and SHA-1',
    (lab) => signedBy({ ...lab.pki.signer, scheme: ecdsaSha1 }),
  ],
];
