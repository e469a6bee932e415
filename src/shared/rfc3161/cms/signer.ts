import { type Der, derOf } from '../asn1/der.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { SignerIdentifier } from './signed-data.ts';

/** The certificates of a token. Unreadable ones are left out: they matter only if they are needed. */
export interface Embedded {
  readonly certificates: readonly Certificate[];
  /** Why the first unreadable one cannot be read. */
  readonly unreadable: Refusal | undefined;
  /** The unreadable ones. */
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

/** Whether another reader may take an unreadable certificate for the one in the SID. */
function mayBeNamed(sid: SignerIdentifier, element: Der): boolean {
  const octets = derOf(element);
  return sid.kind === 'issuerAndSerialNumber'
    ? octets.includes(sid.serialNumber) && octets.includes(sid.issuer)
    : octets.includes(sid.keyIdentifier);
}

/** The certificate in the SID, found by that identifier alone and never by its position (refusals 30–32). */
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
