import { createHash, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { der, genTimeText, OID, pemOf, SCHEMES, type SignatureScheme, type SigningIdentity } from '../shared/rfc3161/index.ts';
import { randomSerial } from '../shared/runtime/random-octets.ts';

/** The certificates of a TSA: a root, an intermediate CA and the TSA itself. */
export interface Pki {
  root: SigningIdentity;
  intermediate: SigningIdentity;
  signer: SigningIdentity;
  rootPem: string;
}

/** Creates root, intermediate and TSA with new keys. `caAlgorithm`: that of both CA keys. The validity periods are relative to `nowMs`. */
export function createPki({
  algorithm = 'p-256',
  caAlgorithm = algorithm,
  nowMs,
}: {
  algorithm?: KeyAlgorithm;
  caAlgorithm?: KeyAlgorithm;
  nowMs: number;
}): Pki {
  const newCa = (commonName: string, years: number, issuer?: SigningIdentity) => {
    const key = generateSigningKey(caAlgorithm);
    return issueCertificate({ commonName, ...validity(nowMs, years), extensions: caExtensions(key, issuer) }, key, issuer);
  };
  const root = newCa('Root CA', 30);
  const intermediate = newCa('Time-Stamping CA', 20, root);
  return { root, intermediate, signer: issueTsa(intermediate, algorithm, nowMs), rootPem: pemOf('CERTIFICATE', root.certificate) };
}

/** Makes a key and certificate for a TSA (RFC 3161 §2.3, RFC 5280). */
export function issueTsa(issuer: SigningIdentity, algorithm: KeyAlgorithm, nowMs: number): SigningIdentity {
  const key = generateSigningKey(algorithm);
  return issueCertificate({ commonName: 'Development TSA', ...validity(nowMs, 10), extensions: tsaExtensions(key, issuer) }, key, issuer);
}

const YEAR_MS = 365.25 * 24 * 3600 * 1000;

/** Certificates are valid from an hour ago, so that a verifier with a slightly slow clock also accepts them. */
export const validity = (nowMs: number, years: number) => ({ notBeforeMs: nowMs - 3600 * 1000, notAfterMs: nowMs + years * YEAR_MS });

/** `rsa-pss` is a key that is restricted to PSS; `rsa-pss-rsae` signs PSS with a general RSA key. Real TSAs use both. */
export const KEY_ALGORITHMS = ['p-256', 'p-384', 'rsa-2048', 'rsa-pss', 'rsa-pss-rsae', 'ed25519'] as const;
export type KeyAlgorithm = (typeof KEY_ALGORITHMS)[number];

export interface SigningKey {
  privateKey: KeyObject;
  publicKey: KeyObject;
  scheme: SignatureScheme;
}

const RSA = { modulusLength: 2048 };
const PSS = { ...RSA, hashAlgorithm: 'sha256', mgf1HashAlgorithm: 'sha256' };
const KEY_TYPES: Record<KeyAlgorithm, { generate: () => Omit<SigningKey, 'scheme'>; scheme: SignatureScheme }> = {
  'p-256': { generate: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }), scheme: SCHEMES.ecdsaSha256 },
  'p-384': { generate: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }), scheme: SCHEMES.ecdsaSha384 },
  'rsa-2048': { generate: () => generateKeyPairSync('rsa', RSA), scheme: SCHEMES.rsaSha256 },
  'rsa-pss': { generate: () => generateKeyPairSync('rsa-pss', PSS), scheme: SCHEMES.rsaPssSha256 },
  'rsa-pss-rsae': { generate: () => generateKeyPairSync('rsa', RSA), scheme: SCHEMES.rsaPssSha256 },
  ed25519: { generate: () => generateKeyPairSync('ed25519'), scheme: SCHEMES.ed25519 },
};

export const schemeOf = (algorithm: KeyAlgorithm): SignatureScheme => KEY_TYPES[algorithm].scheme;

export const generateSigningKey = (algorithm: KeyAlgorithm): SigningKey => ({
  ...KEY_TYPES[algorithm].generate(),
  scheme: schemeOf(algorithm),
});

interface CertificateTemplate {
  commonName: string;
  /** Must be positive and at most 20 octets (RFC 5280 §4.1.2.2). Default: a random number. */
  serial?: bigint;
  /** Milliseconds since the epoch. The certificate contains whole seconds. */
  notBeforeMs: number;
  notAfterMs: number;
  /** Extensions in DER; the functions below make them. */
  extensions: readonly Buffer[];
}

/**
 * Makes a certificate for `key` (RFC 5280), signed by `issuer`, or self-signed without `issuer`. The `chain` in the result is empty if the issuer is
 * self-signed; otherwise it starts with the issuer.
 */
export function issueCertificate(template: CertificateTemplate, key: SigningKey, issuer?: SigningIdentity): SigningIdentity {
  const scheme = issuer?.scheme ?? key.scheme;
  const subjectName = distinguishedName(template.commonName);
  const issuerName = issuer?.subjectName ?? subjectName;
  const serialNumber = der.integer(template.serial ?? randomSerial());
  const body = der.sequence(
    der.contextConstructed(0, der.integer(2)), // v3
    serialNumber,
    scheme.certificateAlgorithm,
    issuerName,
    der.sequence(timeOf(template.notBeforeMs), timeOf(template.notAfterMs)),
    subjectName,
    key.publicKey.export({ type: 'spki', format: 'der' }),
    der.contextConstructed(3, der.sequence(...template.extensions)),
  );
  const certificate = signed(body, { scheme, privateKey: issuer?.privateKey ?? key.privateKey });
  const isBelowRoot = issuer === undefined || issuer.issuerName.equals(issuer.subjectName);
  const chain = isBelowRoot ? [] : [issuer.certificate, ...issuer.chain];
  return { certificate, subjectName, issuerName, serialNumber, privateKey: key.privateKey, scheme: key.scheme, chain };
}

/** An empty revocation list of a CA (RFC 5280 §5.1), valid from `nowMs` for a year. Some verifiers require a revocation list of each CA. */
export function emptyCrl(issuer: SigningIdentity, nowMs: number): Buffer {
  const number = extension(OID.cRLNumber, false, der.integer(BigInt(Math.floor(nowMs / 1000))));
  const body = der.sequence(
    der.integer(1), // v2
    issuer.scheme.certificateAlgorithm,
    issuer.subjectName,
    timeOf(nowMs),
    timeOf(nowMs + YEAR_MS),
    der.contextConstructed(0, der.sequence(number)),
  );
  return signed(body, issuer);
}

export const signed = (body: Buffer, { scheme, privateKey }: Pick<SigningIdentity, 'scheme' | 'privateKey'>): Buffer =>
  der.sequence(body, scheme.certificateAlgorithm, der.bitString(scheme.sign(body, privateKey)));

/** Writes a time as RFC 5280 §4.1.2.5 requires: UTCTime until 2049, GeneralizedTime from 2050, always with seconds. */
export function timeOf(timeMs: number): Buffer {
  const text = genTimeText(Math.floor(timeMs / 1000) * 1000);
  return text < '20500101' ? der.utcTime(text.slice(2)) : der.generalizedTime(text);
}

function distinguishedName(commonName: string): Buffer {
  const attribute = (type: string, value: string) => der.setOf(der.sequence(der.objectIdentifier(type), der.utf8String(value)));
  return der.sequence(attribute(OID.organizationName, 'qstamp development'), attribute(OID.commonName, commonName));
}

export const KEY_USAGE = { digitalSignature: 0, contentCommitment: 1, keyCertSign: 5, cRLSign: 6 } as const;

/** The extensions of a CA. Without `issuer`, those of a root. */
export const caExtensions = (key: SigningKey, issuer?: SigningIdentity): Buffer[] => [
  basicConstraints(true),
  keyUsage(KEY_USAGE.keyCertSign, KEY_USAGE.cRLSign),
  subjectKeyIdentifier(key.publicKey),
  ...(issuer ? [authorityKeyIdentifier(createPublicKey(issuer.privateKey))] : []),
];

/** The extensions of a TSA. RFC 3161 §2.3 requires the extended key usage to be critical, with only timeStamping. */
export const tsaExtensions = (key: SigningKey, issuer: SigningIdentity): Buffer[] => [
  basicConstraints(false),
  keyUsage(KEY_USAGE.digitalSignature),
  extendedKeyUsage([OID.timeStamping]),
  subjectKeyIdentifier(key.publicKey),
  authorityKeyIdentifier(createPublicKey(issuer.privateKey)),
];

export const extension = (type: string, critical: boolean, value: Buffer): Buffer =>
  der.sequence(der.objectIdentifier(type), ...(critical ? [der.boolean(true)] : []), der.octetString(value));

export const basicConstraints = (ca: boolean): Buffer =>
  extension(OID.basicConstraints, true, der.sequence(...(ca ? [der.boolean(true)] : [])));

export const keyUsage = (...bits: readonly number[]): Buffer => extension(OID.keyUsage, true, der.namedBits(...bits));

export const extendedKeyUsage = (purposes: readonly string[], critical = true): Buffer =>
  extension(OID.extKeyUsage, critical, der.sequence(...purposes.map(der.objectIdentifier)));

/** A key identifier. RFC 5280 §4.2.1.2 suggests a SHA-1 of the public key; it is used only as a name. */
export const keyIdentifier = (publicKey: KeyObject): Buffer =>
  createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest();

export const subjectKeyIdentifier = (publicKey: KeyObject): Buffer =>
  extension(OID.subjectKeyIdentifier, false, der.octetString(keyIdentifier(publicKey)));

export const authorityKeyIdentifier = (publicKey: KeyObject): Buffer =>
  extension(OID.authorityKeyIdentifier, false, der.sequence(der.contextPrimitive(0, keyIdentifier(publicKey))));
