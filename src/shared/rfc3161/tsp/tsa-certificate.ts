import { type Der, derOf, sameDer } from '../asn1/der.ts';
import { inside } from '../asn1/members.ts';
import { OID } from '../asn1/oids.ts';
import { TAG } from '../asn1/tags.ts';
import { refuse } from '../refusal/refusal.ts';
import type { Certificate } from '../x509/certificate.ts';
import { KEY_USAGE_BIT } from '../x509/certificate-extensions.ts';
import { isSameName } from '../x509/name.ts';

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
