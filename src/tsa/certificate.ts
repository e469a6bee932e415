import { createHash, generateKeyPairSync, type KeyObject, type KeyPairKeyObjectResult } from 'node:crypto';
import { der, genTimeText, OID, SCHEMES, type SignatureScheme, type SigningIdentity } from '../shared/rfc3161/index.ts';

// Writes X.509 certificates and CRLs (RFC 5280), also wrong ones that a verifier must refuse.

/** `rsa-pss` is a key that is restricted to PSS; `rsa-pss-rsae` signs PSS with a general RSA key. Real TSAs use both. */
export type KeyAlgorithm = 'p-256' | 'p-384' | 'rsa-2048' | 'rsa-pss' | 'rsa-pss-rsae' | 'ed25519';

export const KEY_ALGORITHMS = ['p-256', 'p-384', 'rsa-2048', 'rsa-pss', 'rsa-pss-rsae', 'ed25519'] as const satisfies KeyAlgorithm[];

export interface SigningKey {
  privateKey: KeyObject;
  publicKey: KeyObject;
  scheme: SignatureScheme;
}

const RSA = { modulusLength: 2048 };

const KEY_TYPES: Record<KeyAlgorithm, { generate: () => KeyPairKeyObjectResult; scheme: SignatureScheme }> = {
  'p-256': { generate: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }), scheme: SCHEMES.ecdsaSha256 },
  'p-384': { generate: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }), scheme: SCHEMES.ecdsaSha384 },
  'rsa-2048': { generate: () => generateKeyPairSync('rsa', RSA), scheme: SCHEMES.rsaSha256 },
  'rsa-pss': {
    generate: () => generateKeyPairSync('rsa-pss', { ...RSA, hashAlgorithm: 'sha256', mgf1HashAlgorithm: 'sha256' }),
    scheme: SCHEMES.rsaPssSha256,
  },
  'rsa-pss-rsae': { generate: () => generateKeyPairSync('rsa', RSA), scheme: SCHEMES.rsaPssSha256 },
  ed25519: { generate: () => generateKeyPairSync('ed25519'), scheme: SCHEMES.ed25519 },
};

export function schemeOf(algorithm: KeyAlgorithm): SignatureScheme {
  return KEY_TYPES[algorithm].scheme;
}

export function generateSigningKey(algorithm: KeyAlgorithm): SigningKey {
  const { generate, scheme } = KEY_TYPES[algorithm];
  return { ...generate(), scheme };
}

interface CertificateTemplate {
  commonName: string;
  /** Must be positive and at most 20 octets (RFC 5280 §4.1.2.2). */
  serial: bigint;
  /** Milliseconds since the epoch. The certificate contains whole seconds. */
  notBeforeMs: number;
  notAfterMs: number;
  /** Extensions in DER; the functions below make them. */
  extensions: readonly Buffer[];
}

/**
 * Makes a certificate for `key`, signed by `issuer`, or self-signed without `issuer`. The `chain` in the result is empty if the issuer is
 * self-signed; otherwise it starts with the issuer.
 */
export function issueCertificate(template: CertificateTemplate, key: SigningKey, issuer?: SigningIdentity): SigningIdentity {
  const scheme = issuer?.scheme ?? key.scheme;
  const subjectName = distinguishedName(template.commonName);
  const issuerName = issuer?.subjectName ?? subjectName;
  const serialNumber = der.integer(template.serial);
  const body = der.sequence(
    der.contextConstructed(0, der.integer(2)), // v3
    serialNumber,
    scheme.certificateAlgorithm,
    issuerName,
    der.sequence(time(template.notBeforeMs), time(template.notAfterMs)),
    subjectName,
    key.publicKey.export({ type: 'spki', format: 'der' }),
    der.contextConstructed(3, der.sequence(...template.extensions)),
  );
  const certificate = der.sequence(
    body,
    scheme.certificateAlgorithm,
    der.bitString(scheme.sign(body, issuer?.privateKey ?? key.privateKey)),
  );
  return { certificate, subjectName, issuerName, serialNumber, privateKey: key.privateKey, scheme: key.scheme, chain: chainBelow(issuer) };
}

function chainBelow(issuer: SigningIdentity | undefined): readonly Buffer[] {
  if (issuer === undefined || issuer.issuerName.equals(issuer.subjectName)) return [];
  return [issuer.certificate, ...issuer.chain];
}

/** Writes a time as RFC 5280 §4.1.2.5 requires: UTCTime until 2049, GeneralizedTime from 2050, always with seconds. */
function time(timeMs: number): Buffer {
  const text = genTimeText(Math.floor(timeMs / 1000) * 1000);
  return text < '20500101' ? der.utcTime(text.slice(2)) : der.generalizedTime(text);
}

function distinguishedName(commonName: string): Buffer {
  const attribute = (type: string, value: string) => der.setOf(der.sequence(der.objectIdentifier(type), der.utf8String(value)));
  return der.sequence(attribute(OID.organizationName, 'qstamp development'), attribute(OID.commonName, commonName));
}

export function extension(type: string, critical: boolean, value: Buffer): Buffer {
  return der.sequence(der.objectIdentifier(type), ...(critical ? [der.boolean(true)] : []), der.octetString(value));
}

export function basicConstraints(ca: boolean): Buffer {
  return extension(OID.basicConstraints, true, der.sequence(...(ca ? [der.boolean(true)] : [])));
}

/** Bits of KeyUsage (RFC 5280 §4.2.1.3). */
export const KEY_USAGE = { digitalSignature: 0, contentCommitment: 1, keyCertSign: 5, cRLSign: 6 } as const;

export function keyUsage(...bits: readonly number[]): Buffer {
  return extension(OID.keyUsage, true, der.namedBits(...bits));
}

/** Extended key usage. For a TSA, RFC 3161 §2.3 requires this extension to be critical, with only timeStamping. */
export function extendedKeyUsage(purposes: readonly string[], critical = true): Buffer {
  return extension(OID.extKeyUsage, critical, der.sequence(...purposes.map(der.objectIdentifier)));
}

/** A key identifier. RFC 5280 §4.2.1.2 suggests a SHA-1 of the public key; it is used only as a name. */
export function keyIdentifier(publicKey: KeyObject): Buffer {
  return createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest();
}

export function subjectKeyIdentifier(publicKey: KeyObject): Buffer {
  return extension(OID.subjectKeyIdentifier, false, der.octetString(keyIdentifier(publicKey)));
}

export function authorityKeyIdentifier(publicKey: KeyObject): Buffer {
  return extension(OID.authorityKeyIdentifier, false, der.sequence(der.contextPrimitive(0, keyIdentifier(publicKey))));
}

interface RevokedCertificate {
  /** DER INTEGER. */
  serialNumber: Buffer;
  revokedAtMs: number;
  /** A CRLReason (RFC 5280 §5.3.1); 1 is keyCompromise. */
  reason?: number;
}

interface CrlTemplate {
  number: bigint;
  thisUpdateMs: number;
  nextUpdateMs: number;
  revoked: readonly RevokedCertificate[];
}

/** Makes a revocation list of `issuer`, a DER CertificateList (RFC 5280 §5.1). */
export function issueCrl(template: CrlTemplate, issuer: SigningIdentity): Buffer {
  const { scheme } = issuer;
  const entries = template.revoked.map((entry) =>
    der.sequence(
      entry.serialNumber,
      time(entry.revokedAtMs),
      ...(entry.reason === undefined ? [] : [der.sequence(extension(OID.cRLReason, false, der.enumerated(entry.reason)))]),
    ),
  );
  const body = der.sequence(
    der.integer(1), // v2
    scheme.certificateAlgorithm,
    issuer.subjectName,
    time(template.thisUpdateMs),
    time(template.nextUpdateMs),
    ...(entries.length === 0 ? [] : [der.sequence(...entries)]),
    der.contextConstructed(0, der.sequence(extension(OID.cRLNumber, false, der.integer(template.number)))),
  );
  return der.sequence(body, scheme.certificateAlgorithm, der.bitString(scheme.sign(body, issuer.privateKey)));
}

export { pemOf as pem } from '../shared/rfc3161/index.ts';
