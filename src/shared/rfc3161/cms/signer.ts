import { type Der, derOf } from '../asn1/der.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { SignerIdentifier } from './signed-data.ts';

/** The certificates of a token. One that cannot be read is left out: it matters only where it would have been needed. */
export interface Embedded {
  readonly certificates: readonly Certificate[];
  /** Why the first one that cannot be read cannot be. */
  readonly unreadable: Refusal | undefined;
  /** Those that cannot be read. */
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

/** Whether a certificate that cannot be read here may be, to another reader, the one that the SID names. */
function mayBeNamed(sid: SignerIdentifier, element: Der): boolean {
  const octets = derOf(element);
  return sid.kind === 'issuerAndSerialNumber'
    ? octets.includes(sid.serialNumber) && octets.includes(sid.issuer)
    : octets.includes(sid.keyIdentifier);
}

/** The certificate that the SID names, by that name alone and never by its place (refusals 30–32). */
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
    refuse('signer_certificate_not_found', `None of the ${certificates.length} certificates is named by the SignerInfo.`);
  }
  if (another !== undefined) refuse('signer_certificate_ambiguous', `${found.length} certificates are named by the SignerInfo.`);
  if (embedded.unread.some((element) => mayBeNamed(sid, element))) {
    refuse('signer_certificate_ambiguous', 'A certificate that cannot be read bears the name that the SignerInfo gives.');
  }
  return signer;
}
