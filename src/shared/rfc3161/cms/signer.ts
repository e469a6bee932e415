import { hash } from 'node:crypto';
import { contentsOf, type Der, derOf, inside, type Members, membersOf, TAG } from '../asn1/der.ts';
import { OID } from '../asn1/oids.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';
import { algorithmIdentifierOf, digestOf } from '../x509/algorithms.ts';
import type { Certificate } from '../x509/certificate.ts';
import { isSameName } from '../x509/name.ts';
import type { SignerIdentifier } from './signed-data.ts';

/** The certificates in a token. A certificate that cannot be read is a fault only if it is needed. */
interface Embedded {
  /** The certificates that can be read. */
  readonly certificates: readonly Certificate[];
  /** Why the first unreadable certificate cannot be read. */
  readonly unreadable: Refusal | undefined;
  /** The certificates that cannot be read. */
  readonly unread: readonly Der[];
}

export function embeddedOf(elements: readonly Der[], read: (element: Der) => Certificate): Embedded {
  const certificates: Certificate[] = [];
  const unread: Der[] = [];
  let unreadable: Refusal | undefined;
  for (const element of elements) {
    try {
      certificates.push(read(element));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      unreadable ??= error;
      unread.push(element);
    }
  }
  return { certificates, unreadable, unread };
}

/** Returns true if another reader could read this unreadable certificate and take it for the certificate in the SignerIdentifier. */
function mayBeNamed(sid: SignerIdentifier, element: Der): boolean {
  const octets = derOf(element);
  return sid.kind === 'issuerAndSerialNumber'
    ? octets.includes(sid.serialNumber) && octets.includes(sid.issuer)
    : octets.includes(sid.keyIdentifier);
}

/** Finds the signer's certificate by the SignerIdentifier alone, never by its position in the token (refusals 30–32). */
export function signerCertificateOf(
  sid: SignerIdentifier,
  embedded: Embedded,
  configured: readonly Certificate[],
  isEmbeddingRequired: boolean,
): Certificate {
  const isNamed = (certificate: Certificate) =>
    sid.kind === 'issuerAndSerialNumber'
      ? sid.serialNumber.equals(certificate.serialNumber) && sid.issuer.equals(certificate.issuer)
      : certificate.extensions.subjectKeyIdentifier?.equals(sid.keyIdentifier) === true;
  const distinct = (certificates: readonly Certificate[]) => [...new Map(certificates.map((one) => [one.fingerprint, one])).values()];

  const { certificates, unreadable } = embedded;
  const found = distinct(certificates.filter(isNamed));
  if (found.length === 0 && !isEmbeddingRequired) found.push(...distinct(configured.filter(isNamed)));
  const [signer, another] = found;
  if (signer === undefined) {
    if (unreadable !== undefined) throw unreadable;
    const isAbsent = certificates.every((certificate) => certificate.extensions.basicConstraints?.ca);
    if (isAbsent) refuse('signer_certificate_missing', `No signer’s certificate is among the ${certificates.length} of the token.`);
    refuse('signer_certificate_not_found', `The SignerInfo names none of the ${certificates.length} certificates.`);
  }
  if (another !== undefined) refuse('signer_certificate_ambiguous', `The SignerInfo names ${found.length} certificates.`);
  if (embedded.unread.some((element) => mayBeNamed(sid, element))) {
    refuse('signer_certificate_ambiguous', 'An unreadable certificate has the name in the SignerInfo.');
  }
  return signer;
}

/**
 * One entry in the signing certificate attribute (ESS, RFC 5035 §3 and §5; RFC 5816). With this attribute, the signer signs the identity of its own
 * certificate, so that another certificate for the same key cannot replace it.
 */
interface CertificateId {
  readonly digest: 'sha1' | 'sha256' | 'sha384' | 'sha512';
  readonly certificateHash: Buffer;
  readonly issuerSerial: { readonly issuer: Buffer; readonly serialNumber: Buffer } | undefined;
}

const HASH_CODES = { weak: 'signature_algorithm_weak', unknown: 'signing_certificate_hash_unknown' } as const;

/** Reads a list of certificates for each version of the attribute. The first certificate in a list is that of the signer (refusals 33, 36). */
export function signingCertificatesOf(attributes: ReadonlyMap<string, readonly Der[]>): readonly (readonly CertificateId[])[] {
  const lists = [OID.signingCertificate, OID.signingCertificateV2].flatMap((type) => {
    const values = attributes.get(type);
    if (values === undefined) return [];
    const [value, another] = values;
    if (value === undefined || another !== undefined)
      refuse('signing_certificate_missing', 'The signing certificate attribute does not have exactly one value.');
    return [certificateIdsOf(value, type === OID.signingCertificateV2)];
  });
  if (lists.length === 0) refuse('signing_certificate_missing', 'There is no signing certificate attribute.');
  return lists;
}

/** Reads a SigningCertificate or a SigningCertificateV2. */
function certificateIdsOf(element: Der, isV2: boolean): readonly CertificateId[] {
  const members = membersOf(element, 'signingCertificate');
  const ids = members.take(TAG.sequence, 'certs').children;
  members.optional(TAG.sequence); // skips the certificate policies, which are not checked
  members.end();
  if (ids.length === 0) refuse('signing_certificate_missing', 'The signing certificate attribute names no certificate.');
  return ids.map((id) => {
    const parts = membersOf(id, 'ESSCertID');
    const algorithm = isV2 ? parts.optional(TAG.sequence) : undefined;
    const certificateHash = contentsOf(parts.take(TAG.octetString, 'certHash'));
    const issuerSerial = issuerSerialOf(parts);
    parts.end();
    return { digest: isV2 ? digestOfId(algorithm) : 'sha1', certificateHash, issuerSerial };
  });
}

/** Reads the hash algorithm. SHA-256 is the default (RFC 5035 §4), but some TSAs write it explicitly. */
function digestOfId(algorithm: Der | undefined): CertificateId['digest'] {
  if (algorithm === undefined) return 'sha256';
  return digestOf(algorithmIdentifierOf(algorithm, 'hashAlgorithm'), 'The hash algorithm of ESSCertIDv2', HASH_CODES);
}

/** Reads an IssuerSerial: exactly one directoryName, and the serial number. */
function issuerSerialOf(parts: Members): CertificateId['issuerSerial'] {
  const element = parts.optional(TAG.sequence);
  if (element === undefined) return undefined;
  const members = membersOf(element, 'issuerSerial');
  const [name, another] = members.take(TAG.sequence, 'issuer').children;
  const serialNumber = derOf(members.take(TAG.integer, 'serialNumber'));
  members.end();
  if (name?.tag !== TAG.contextConstructed(4) || another !== undefined) {
    refuse('signing_certificate_issuer_mismatch', 'issuerSerial does not name its issuer by one directory name.');
  }
  return { issuer: derOf(inside(name, 'directoryName')), serialNumber };
}

/** Finds the certificate that one of the lists names as that of the signer. */
export function attestedSignerOf(
  lists: readonly (readonly CertificateId[])[],
  certificates: readonly Certificate[],
): Certificate | undefined {
  return certificates.find((certificate) => lists.some(([first]) => first !== undefined && isHashOf(first, certificate)));
}

/** Refuses the token unless the first certificate in each list is that of the signer (refusals 34, 35). */
export function checkSigningCertificate(lists: readonly (readonly CertificateId[])[], signer: Certificate): void {
  for (const [first] of lists) {
    if (first === undefined || !isHashOf(first, signer)) {
      refuse('signing_certificate_hash_mismatch', 'The token was signed with another certificate than it names.');
    }
    if (!isIssuerSerialOf(first, signer)) {
      refuse('signing_certificate_issuer_mismatch', 'issuerSerial is not that of the signer’s certificate.');
    }
  }
}

/**
 * Checks the other certificates in each list. They limit which certificates may be used (RFC 5035 §5.4.1): CA certificates limit the path to the
 * anchor, and attribute certificates limit what the signer may do. If a list names CAs, the chain must not contain a CA that it does not name. The
 * anchor need not be named, because it is trusted itself. Not all named certificates have to be used or available.
 *
 * @param known all available certificates. A list that names none of them may name only attribute certificates, so it does not limit the path.
 */
export function checkNamedChain(
  lists: readonly (readonly CertificateId[])[],
  chain: readonly Certificate[],
  known: readonly Certificate[],
): void {
  for (const [, ...further] of lists) {
    const isNamed = (certificate: Certificate) => further.some((id) => isHashOf(id, certificate) && isIssuerSerialOf(id, certificate));
    if (known.some(isNamed) && !chain.slice(1, -1).every(isNamed)) {
      refuse('signing_certificate_hash_mismatch', 'The token does not name the certificates of its chain.');
    }
  }
}

function isHashOf(id: CertificateId, certificate: Certificate): boolean {
  if (id.digest === 'sha256') return id.certificateHash.toString('hex') === certificate.fingerprint;
  return hash(id.digest, certificate.der, 'buffer').equals(id.certificateHash);
}

/** Compares issuer and serial number. A difference in case or string type does not make another name (RFC 5280 §7.1). */
function isIssuerSerialOf({ issuerSerial }: CertificateId, certificate: Certificate): boolean {
  if (issuerSerial === undefined) return true;
  return isSameName(issuerSerial.issuer, certificate.issuer) && issuerSerial.serialNumber.equals(certificate.serialNumber);
}
