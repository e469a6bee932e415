import { type Der, derOf } from '../asn1/der.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';
import type { Certificate } from '../x509/certificate.ts';
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
