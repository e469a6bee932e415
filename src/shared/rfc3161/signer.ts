import type { Certificate } from './certificate.ts';
import { KEY_USAGE_BIT } from './certificate-extensions.ts';
import { type Der, derOf, inside, sameDer, TAG } from './der.ts';
import { isSameName } from './name.ts';
import { OID } from './oids.ts';
import { refuse } from './refusal.ts';
import type { SignerIdentifier } from './signed-data.ts';

/** Who signed, and whether its certificate is one for time-stamping. */

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

/** RFC 3161 §2.3: extended key usage critical, with time-stamping alone; the key signs and does nothing else (refusals 37–40). */
export function checkPurpose(signer: Certificate): void {
  const { basicConstraints, keyUsage, extendedKeyUsage } = signer.extensions;
  if (extendedKeyUsage === undefined) refuse('eku_missing', 'The signer’s certificate has no extended key usage.');
  const { purposes, critical } = extendedKeyUsage;
  if (!purposes.includes(OID.timeStamping)) refuse('eku_missing', 'The extended key usage of the signer’s certificate is another one.');
  if (purposes.length > 1) refuse('eku_other_purpose', `The signer’s certificate is for ${purposes.join(', ')}.`);
  if (!critical) refuse('eku_not_critical', 'The extended key usage of the signer’s certificate is not critical.');
  if (basicConstraints?.ca) refuse('signer_is_ca', 'The signer’s certificate is that of a CA.');
  // RFC 5280 §4.2.1.12: a purpose and a key usage must go together, which for time-stamping are these two.
  const signs: readonly number[] = [KEY_USAGE_BIT.digitalSignature, KEY_USAGE_BIT.contentCommitment];
  if (keyUsage !== undefined && (keyUsage.size === 0 || [...keyUsage].some((bit) => !signs.includes(bit)))) {
    refuse('signer_key_usage', 'The key usage of the signer’s certificate is not signing alone.');
  }
}

/** RFC 3161 §2.4.2: tsa must be one of the names in the signer's certificate (refusal 45). */
export function checkTsaName(tsa: Der, signer: Certificate): void {
  const isSubject = tsa.tag === TAG.contextConstructed(4) && isSameName(derOf(inside(tsa, 'tsa')), signer.subject);
  if (!isSubject && !signer.extensions.subjectAltName.some((name) => sameDer(name, tsa))) {
    refuse('tsa_name_mismatch', 'TSTInfo.tsa is not a name of the signer’s certificate.');
  }
}
