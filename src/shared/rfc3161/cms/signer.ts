import { refuse } from '../refusal/refusal.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { SignerIdentifier } from './signed-data.ts';

/** The certificate that the SID names, by that name alone and never by its place (refusals 30–32). */
export function signerCertificateOf(
  sid: SignerIdentifier,
  embedded: readonly Certificate[],
  configured: readonly Certificate[],
  isEmbeddingRequired: boolean,
): Certificate {
  const isNamed = (certificate: Certificate) =>
    sid.kind === 'issuerAndSerialNumber'
      ? sid.serialNumber.equals(certificate.serialNumber) && sid.issuer.equals(certificate.issuer)
      : certificate.extensions.subjectKeyIdentifier?.equals(sid.keyIdentifier) === true;
  const distinct = (certificates: readonly Certificate[]) => [...new Map(certificates.map((one) => [one.fingerprint, one])).values()];

  const found = distinct(embedded.filter(isNamed));
  if (found.length === 0 && !isEmbeddingRequired) found.push(...distinct(configured.filter(isNamed)));
  const [signer, another] = found;
  if (signer === undefined) {
    const isAbsent = embedded.every((certificate) => certificate.extensions.basicConstraints?.ca);
    if (isAbsent) refuse('signer_certificate_missing', `No signer’s certificate is among the ${embedded.length} of the token.`);
    refuse('signer_certificate_not_found', `None of the ${embedded.length} certificates is named by the SignerInfo.`);
  }
  if (another !== undefined) refuse('signer_certificate_ambiguous', `${found.length} certificates are named by the SignerInfo.`);
  return signer;
}
