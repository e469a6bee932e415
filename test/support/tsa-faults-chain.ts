import { generateKeyPairSync, sign } from 'node:crypto';
import type { ReasonCode } from '../../src/shared/domain/reasons.ts';
import {
  contextConstructed,
  contextPrimitive,
  ia5String,
  nullValue,
  objectIdentifier,
  sequence,
  setOf,
  utf8String,
} from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { OID } from '../../src/shared/rfc3161/asn1/oids.ts';
import { directoryName } from '../../src/shared/rfc3161/issue/encode.ts';
import type { SigningIdentity } from '../../src/shared/rfc3161/issue/issue.ts';
import { SCHEMES, type SignatureScheme } from '../../src/shared/rfc3161/issue/sign.ts';
import {
  basicConstraints,
  extendedKeyUsage,
  extension,
  generateSigningKey,
  issueCertificate,
  issueCrl,
  KEY_USAGE,
  keyUsage,
} from '../../src/tsa/certificate.ts';
import { createPki, type IntermediateOptions, issueIntermediate, issueSigner, type SignerOptions } from '../../src/tsa/pki.ts';
import { DAY_MS, type FaultyCase, LAB_NOW_MS, type Specimen, type SpecimenOptions, type TsaLab } from './tsa-lab.ts';

/** Refusals 37–46: the signer's certificate and everything above it. The token itself is signed as it should be. */

const CERTIFIED_MS = LAB_NOW_MS - 365 * DAY_MS;

function signer(code: ReasonCode, name: string, options: SignerOptions): FaultyCase {
  return { code, name, make: (lab) => lab.specimen({ profile: { identity: lab.signer(options) } }) };
}

const extensions = (...list: readonly Buffer[]): SignerOptions => ({ extensions: () => list });
const endEntity = [basicConstraints(false), keyUsage(KEY_USAGE.digitalSignature)];
const purposes = (...oids: readonly string[]) => extensions(...endEntity, extendedKeyUsage(oids));

/** A token below an intermediate CA of its own. */
export function below(lab: TsaLab, intermediate: Omit<IntermediateOptions, 'algorithm' | 'nowMs'>, more: SpecimenOptions = {}): Specimen {
  const issuer = issueIntermediate(lab.pki.root, { algorithm: 'p-256', nowMs: CERTIFIED_MS, ...intermediate });
  return lab.specimen({ profile: { identity: issueSigner(issuer, { nowMs: CERTIFIED_MS }) }, ...more });
}

/** Lists of the intermediate CA and of the root, with what each has revoked. */
export function revocationLists(lab: TsaLab, revokedAtMs: number, of: { signer?: boolean; intermediate?: boolean }, reason = 1): Buffer[] {
  const template = { number: 1n, thisUpdateMs: LAB_NOW_MS - 1000, nextUpdateMs: LAB_NOW_MS + DAY_MS };
  const entry = (serialNumber: Buffer) => ({ serialNumber, revokedAtMs, reason });
  const { pki } = lab;
  return [
    issueCrl({ ...template, revoked: of.signer ? [entry(pki.signer.serialNumber)] : [] }, pki.intermediate),
    issueCrl({ ...template, revoked: of.intermediate ? [entry(pki.intermediate.serialNumber)] : [] }, pki.root),
  ];
}

const policies = (policy: string) => extension(OID.certificatePolicies, false, sequence(sequence(objectIdentifier(policy))));
const requireExplicitPolicy = (after: number) =>
  extension(OID.policyConstraints, true, sequence(contextPrimitive(0, Buffer.from([after]))));
const permittedNames = (name: Buffer) =>
  extension(OID.nameConstraints, true, sequence(contextConstructed(0, sequence(directoryName(name)))));
const distinguishedName = (organisation: string) =>
  sequence(setOf(sequence(objectIdentifier(OID.organizationName), utf8String(organisation))));

function selfCertified(): SigningIdentity {
  const period = { notBeforeMs: CERTIFIED_MS, notAfterMs: LAB_NOW_MS + DAY_MS };
  const template = { commonName: 'Self', serial: 1n, ...period, extensions: [...endEntity, extendedKeyUsage([OID.timeStamping])] };
  return issueCertificate(template, generateSigningKey('p-256'));
}

const rsa1024 = () => generateKeyPairSync('rsa', { modulusLength: 1024 });
const ecdsaSha1: SignatureScheme = {
  ...SCHEMES.ecdsaSha256,
  digest: 'sha1',
  cmsAlgorithm: sequence(objectIdentifier(OID.ecdsaWithSha1)),
  sign: (data, key) => sign('sha1', data, key),
};
const rsaSha1: SignatureScheme = {
  digest: 'sha1',
  certificateAlgorithm: sequence(objectIdentifier(OID.sha1WithRsa), nullValue()),
  cmsAlgorithm: sequence(objectIdentifier(OID.sha1WithRsa), nullValue()),
  sign: (data, key) => sign('sha1', data, key),
};
const rsaKey = () => generateKeyPairSync('rsa', { modulusLength: 2048 });

const PURPOSE_FAULTS: readonly FaultyCase[] = [
  signer('eku_missing', 'no extended key usage', extensions(...endEntity)),
  signer('eku_missing', 'no extensions but basicConstraints', extensions(basicConstraints(false))),
  signer('eku_missing', 'extended key usage for something else only', purposes(OID.serverAuth)),
  signer('eku_missing', 'anyExtendedKeyUsage only', purposes(OID.anyExtendedKeyUsage)),
  signer('eku_not_critical', 'extended key usage not critical', extensions(...endEntity, extendedKeyUsage([OID.timeStamping], false))),
  signer('eku_other_purpose', 'codeSigning beside timeStamping', purposes(OID.timeStamping, OID.codeSigning)),
  signer('eku_other_purpose', 'serverAuth before timeStamping', purposes(OID.serverAuth, OID.timeStamping)),
  signer('eku_other_purpose', 'anyExtendedKeyUsage beside timeStamping', purposes(OID.timeStamping, OID.anyExtendedKeyUsage)),
  signer('eku_other_purpose', 'a purpose that nobody knows beside timeStamping', purposes(OID.timeStamping, '2.999.3161.39')),
  signer(
    'signer_is_ca',
    'the signer is a CA',
    extensions(basicConstraints(true), keyUsage(KEY_USAGE.digitalSignature, KEY_USAGE.keyCertSign), extendedKeyUsage([OID.timeStamping])),
  ),
  signer(
    'signer_key_usage',
    'a key for key agreement only',
    extensions(basicConstraints(false), keyUsage(4), extendedKeyUsage([OID.timeStamping])),
  ),
  signer(
    'certificate_extension',
    'a critical extension of the signer that nobody knows',
    extensions(...endEntity, extendedKeyUsage([OID.timeStamping]), extension('2.999.3161.5', true, nullValue())),
  ),
  {
    code: 'intermediate_eku',
    name: 'an intermediate CA for serverAuth only',
    make: (lab) => below(lab, { extensions: [extendedKeyUsage([OID.serverAuth], false)] }),
  },
];

const CHAIN_FAULTS: readonly FaultyCase[] = [
  {
    code: 'untrusted_root',
    name: 'a root that is not trusted, with the trusted one’s name',
    make: (lab) => lab.specimen({ profile: { identity: createPki({ nowMs: CERTIFIED_MS }).signer } }),
  },
  {
    code: 'untrusted_root',
    name: 'a root that is not trusted but is in the token',
    make: (lab) => {
      const other = createPki({ nowMs: CERTIFIED_MS });
      return lab.specimen({
        profile: { identity: other.signer },
        seams: { token: (parts) => ({ ...parts, certificates: [...parts.certificates, other.root.certificate] }) },
      });
    },
  },
  {
    code: 'untrusted_root',
    name: 'a signer that certified itself',
    make: (lab) => lab.specimen({ profile: { identity: selfCertified() } }),
  },
  { code: 'trust_store_empty', name: 'no trust anchor at all', make: (lab) => lab.specimen({ anchors: [] }) },
  {
    code: 'untrusted_root',
    name: 'the intermediate CA is missing',
    make: (lab) => lab.specimen({ seams: { token: (parts) => ({ ...parts, certificates: [lab.pki.signer.certificate] }) } }),
  },
  {
    code: 'issuer_not_ca',
    name: 'issued by a certificate that is no CA',
    make: (lab) => lab.specimen({ profile: { identity: issueSigner(lab.pki.signer, { nowMs: CERTIFIED_MS }) } }),
  },
  signer('certificate_not_valid_at_gen_time', 'the signer expired a day before genTime', {
    notBeforeMs: CERTIFIED_MS,
    notAfterMs: LAB_NOW_MS - DAY_MS,
  }),
  signer('certificate_not_valid_at_gen_time', 'the signer is valid from a day after genTime', { notBeforeMs: LAB_NOW_MS + DAY_MS }),
  {
    code: 'certificate_not_valid_at_gen_time',
    name: 'the intermediate CA expired a day before genTime',
    make: (lab) => below(lab, { notAfterMs: LAB_NOW_MS - DAY_MS }),
  },
  {
    code: 'certificate_policy',
    name: 'a CA that requires a policy which the signer does not name',
    make: (lab) => below(lab, { extensions: [policies('2.999.1'), requireExplicitPolicy(0)] }),
  },
  {
    code: 'certificate_name',
    name: 'a CA that may certify another organisation only',
    make: (lab) => below(lab, { extensions: [permittedNames(distinguishedName('Another organisation'))] }),
  },
  {
    code: 'certificate_revoked',
    name: 'the signer was revoked a day before genTime',
    make: (lab) => lab.specimen({ crls: revocationLists(lab, LAB_NOW_MS - DAY_MS, { signer: true }) }),
  },
  {
    code: 'certificate_revoked',
    name: 'the intermediate CA was revoked a day before genTime',
    make: (lab) => lab.specimen({ crls: revocationLists(lab, LAB_NOW_MS - DAY_MS, { intermediate: true }) }),
  },
];

const NAME_FAULTS: readonly FaultyCase[] = [
  {
    code: 'tsa_name_mismatch',
    name: 'TSTInfo.tsa is the name of the CA',
    make: (lab) => lab.specimen({ seams: { fields: (f) => ({ ...f, tsa: directoryName(lab.pki.intermediate.subjectName) }) } }),
  },
  {
    code: 'tsa_name_mismatch',
    name: 'TSTInfo.tsa is an e-mail address that the certificate does not have',
    make: (lab) =>
      lab.specimen({ seams: { fields: (f) => ({ ...f, tsa: contextPrimitive(1, ia5String('tsa@example.com').subarray(2)) }) } }),
  },
];

const STRENGTH_FAULTS: readonly FaultyCase[] = [
  {
    code: 'key_too_weak',
    name: 'an RSA key of 1 024 bits',
    make: (lab) => lab.specimen({ profile: { identity: lab.signer({ key: { ...rsa1024(), scheme: SCHEMES.rsaSha256 } }) } }),
  },
  {
    code: 'signature_algorithm_weak',
    name: 'sha1WithRSAEncryption over the attributes',
    make: (lab) => lab.specimen({ profile: { identity: lab.signer({ key: { ...rsaKey(), scheme: rsaSha1 } }) } }),
  },
  {
    code: 'signature_algorithm_weak',
    name: 'a certificate signed with SHA-1',
    make: (lab) => {
      const ca = { ...issueIntermediate(lab.pki.root, { algorithm: 'rsa-2048', nowMs: CERTIFIED_MS }), scheme: rsaSha1 };
      return lab.specimen({ profile: { identity: issueSigner(ca, { nowMs: CERTIFIED_MS }) } });
    },
  },
  {
    code: 'signature_algorithm_unknown',
    name: 'a signature algorithm that nobody knows',
    make: (lab) =>
      lab.specimen({
        seams: { signer: (info) => ({ ...info, signatureAlgorithm: sequence(objectIdentifier('2.999.3161.46')) }) },
      }),
  },
  {
    code: 'signature_algorithm_weak',
    name: 'the signature called ecdsa-with-SHA1',
    make: (lab) =>
      lab.specimen({
        seams: { signer: (info) => ({ ...info, signatureAlgorithm: sequence(objectIdentifier(OID.ecdsaWithSha1)) }) },
      }),
  },
  {
    code: 'signature_algorithm_mismatch',
    name: 'the signature called RSA although the key is not',
    make: (lab) => lab.specimen({ seams: { signer: (info) => ({ ...info, signatureAlgorithm: SCHEMES.rsaSha256.certificateAlgorithm }) } }),
  },
  {
    code: 'signature_algorithm_weak',
    name: 'attributes digested and signed with ECDSA and SHA-1',
    make: (lab) => lab.specimen({ profile: { identity: { ...lab.pki.signer, scheme: ecdsaSha1 } } }),
  },
];

export const CERTIFICATE_FAULTS: readonly FaultyCase[] = [...PURPOSE_FAULTS, ...CHAIN_FAULTS, ...NAME_FAULTS, ...STRENGTH_FAULTS];
