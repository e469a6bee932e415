import { hash } from 'node:crypto';
import { type Der, derOf, inside, membersOf, parseDer, TAG } from '../asn1/der.ts';
import { millisecondsOfTime, octetsOfBitString, smallIntegerOf } from '../asn1/der-values.ts';
import { refuse, refusingAs } from '../refusal/refusal.ts';
import { type AlgorithmIdentifier, algorithmIdentifierOf, sameAlgorithm } from './algorithms.ts';
import { type Extensions, extensionsOf } from './certificate-extensions.ts';
import { type PublicKey, publicKeyOf } from './public-key.ts';

/** A parsed X.509 certificate (RFC 5280 §4.1). To compare certificates, compare their fingerprints. */
export interface Certificate {
  readonly der: Buffer;
  /** SHA-256, hex. */
  readonly fingerprint: string;
  /** DER INTEGER. */
  readonly serialNumber: Buffer;
  /** DER Name. */
  readonly issuer: Buffer;
  /** DER Name. */
  readonly subject: Buffer;
  /** DER SubjectPublicKeyInfo. */
  readonly subjectPublicKeyInfo: Buffer;
  /** The first moment of validity, in milliseconds since the epoch (RFC 5280 §4.1.2.5). */
  readonly notBeforeMs: number;
  /** The last moment of validity, in milliseconds since the epoch. */
  readonly notAfterMs: number;
  /** The version as people count it: 1, 2 or 3. */
  readonly version: number;
  readonly extensions: Extensions;
  /** Reads the public key when it is needed. @throws Refusal if the key is weak or cannot be read */
  publicKey(): PublicKey;
  /** The octets that the signature covers. */
  readonly signed: Buffer;
  readonly signatureAlgorithm: AlgorithmIdentifier;
  readonly signature: Buffer;
}

/** Parses a certificate. @throws Refusal `certificate_malformed` */
export function parseCertificate(bytes: Uint8Array): Certificate {
  // Copy the octets, because certificates are cached: a cache must not keep the whole token in memory, or change when the token changes.
  const der = Buffer.from(bytes);
  return refusingAs('certificate_malformed', 'A certificate cannot be read', () => certificateOf(parseDer(der), der));
}

function certificateOf(element: Der, der: Buffer): Certificate {
  const outer = membersOf(element, 'Certificate');
  const body = outer.take(TAG.sequence, 'tbsCertificate');
  const signatureAlgorithm = outer.take(TAG.sequence, 'signatureAlgorithm');
  const signature = octetsOfBitString(outer.take(TAG.bitString, 'signatureValue'), 'signatureValue');
  outer.end();

  const members = membersOf(body, 'tbsCertificate');
  const explicitVersion = members.optional(TAG.contextConstructed(0));
  const version = explicitVersion === undefined ? 0 : smallIntegerOf(inside(explicitVersion, 'version'));
  const serialNumber = derOf(members.take(TAG.integer, 'serialNumber'));
  const innerAlgorithm = members.take(TAG.sequence, 'signature');
  const issuer = derOf(members.take(TAG.sequence, 'issuer'));
  const validity = membersOf(members.take(TAG.sequence, 'validity'), 'validity');
  const notBeforeMs = millisecondsOfTime(validity.any('notBefore'), 'notBefore');
  const notAfterMs = millisecondsOfTime(validity.any('notAfter'), 'notAfter');
  validity.end();
  const subject = derOf(members.take(TAG.sequence, 'subject'));
  const spki = members.take(TAG.sequence, 'subjectPublicKeyInfo');
  members.optional(TAG.context(1));
  members.optional(TAG.context(2));
  const extensions = members.optional(TAG.contextConstructed(3));
  members.end();

  // Only the inner AlgorithmIdentifier is signed, so the outer one must be the same (RFC 5280 §4.1.1.2).
  if (!sameAlgorithm(innerAlgorithm, signatureAlgorithm)) refuse('certificate_malformed', 'A certificate names two signature algorithms.');
  if (!(version === 0 || version === 1 || version === 2)) refuse('certificate_malformed', 'A certificate is of an unknown version.');
  if (extensions !== undefined && version !== 2) refuse('certificate_malformed', 'A certificate has extensions but is not of version 3.');

  let publicKey: PublicKey | undefined;
  return {
    der,
    fingerprint: fingerprintOf(der),
    serialNumber,
    issuer,
    subject,
    subjectPublicKeyInfo: derOf(spki),
    notBeforeMs,
    notAfterMs,
    version: version + 1,
    extensions: extensionsOf(extensions === undefined ? [] : inside(extensions, 'extensions').children),
    publicKey: () => {
      publicKey ??= refusingAs('certificate_malformed', 'A key cannot be read', () => publicKeyOf(spki));
      return publicKey;
    },
    signed: derOf(body),
    signatureAlgorithm: algorithmIdentifierOf(signatureAlgorithm, 'signatureAlgorithm of a certificate'),
    signature,
  };
}

/** Returns the fingerprint of a certificate: SHA-256 of its DER, hex. */
export function fingerprintOf(der: Uint8Array): string {
  return hash('sha256', der, 'hex');
}

/** Writes a PEM block (RFC 7468) with a line end. */
export function pemOf(label: 'CERTIFICATE' | 'X509 CRL', der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
