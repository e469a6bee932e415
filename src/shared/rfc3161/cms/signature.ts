import { hash } from 'node:crypto';
import { contentsOf, derOf } from '../asn1/der.ts';
import { oidOf } from '../asn1/der-values.ts';
import { membersOf } from '../asn1/members.ts';
import { OID } from '../asn1/oids.ts';
import { TAG } from '../asn1/tags.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';
import { type SignatureAlgorithm, sameAlgorithm, signerAlgorithmOf } from '../x509/algorithms.ts';
import type { Certificate } from '../x509/certificate.ts';
import { isSignatureOf } from '../x509/public-key.ts';
import { type Attributes, signedBytesOf } from './attributes.ts';
import { type SignedData, type SignerInfo, signerDigestOf } from './signed-data.ts';

/** This module checks the signature of a token, and the attributes that bind it to the content (RFC 5652 §5.4, §5.6, §11). */

/** Checks the contentType attribute (refusal 27). Without it, a signature of the same key over other content could pass as a signature over TSTInfo. */
export function checkContentType(attributes: Attributes): void {
  const [value, another] = attributes.get(OID.contentType) ?? [];
  if (value === undefined || another !== undefined)
    refuse('content_type_attribute', 'The contentType attribute is absent or does not have exactly one value.');
  if (value.tag !== TAG.oid || oidOf(value, 'contentType') !== OID.tstInfo) {
    refuse('content_type_attribute', 'The contentType attribute is not id-ct-TSTInfo.');
  }
}

/** Checks that the signed digest is the digest of the content (refusal 28). */
export function checkMessageDigest(attributes: Attributes, { eContent, signer }: SignedData): void {
  const [value, another] = attributes.get(OID.messageDigest) ?? [];
  if (value?.tag !== TAG.octetString || another !== undefined) {
    refuse('message_digest_attribute', 'The messageDigest attribute is absent or does not have exactly one value.');
  }
  if (!hash(signerDigestOf(signer), eContent, 'buffer').equals(contentsOf(value))) {
    refuse('message_digest_mismatch', 'The digest of the content is not the one that was signed.');
  }
}

/** Checks CMSAlgorithmProtection (RFC 6211 §2). This signed attribute repeats the algorithms, because the SignerInfo itself is not signed. */
export function checkAlgorithmProtection(attributes: Attributes, signer: SignerInfo): void {
  const values = attributes.get(OID.cmsAlgorithmProtection);
  if (values === undefined) return;
  const [value, another] = values;
  if (value === undefined || another !== undefined)
    refuse('algorithm_protection_mismatch', 'The attribute does not have exactly one value.');
  const members = membersOf(value, 'CMSAlgorithmProtection');
  const digest = members.take(TAG.sequence, 'digestAlgorithm');
  const signature = members.optional(TAG.contextConstructed(1));
  members.end();
  if (
    signature === undefined ||
    !sameAlgorithm(digest, signer.digestAlgorithmDer) ||
    !sameAlgorithm(signature, signer.signatureAlgorithmDer)
  ) {
    refuse('algorithm_protection_mismatch', 'The algorithms of the SignerInfo are not those that were signed.');
  }
}

/**
 * Checks that the key of the certificate in the SignerIdentifier made the signature (refusals 29, 30 and 46).
 *
 * @param sworn the signer's certificate according to the signed attributes, if it differs from `signer`
 */
export async function checkSignature(signerInfo: SignerInfo, signer: Certificate, sworn: Certificate | undefined): Promise<void> {
  const algorithm = signerAlgorithmOf(signerInfo.signatureAlgorithm, signerDigestOf(signerInfo), 'signatureAlgorithm');
  const signed = signedBytesOf(signerInfo);
  if (await isSignatureOf(signer.publicKey(), algorithm, signed, signerInfo.signature)) return;
  if (sworn !== undefined && (await isSignatureBy(sworn, algorithm, signed, signerInfo.signature))) {
    refuse('signer_identifier_mismatch', 'The signature was not made with the certificate in the SignerInfo.');
  }
  refuse('signature_invalid', 'The signature over the signed attributes is not valid.');
}

/** Returns a SHA-256 in hex over all inputs of `checkSignature`. With it, a caller can remember that a signature is valid. */
export function signatureMarkOf(
  { signatureAlgorithmDer, digestAlgorithmDer, signature, ...rest }: SignerInfo,
  signer: Certificate,
): string {
  const parts = [derOf(signatureAlgorithmDer), derOf(digestAlgorithmDer), derOf(rest.signedAttributes), signature];
  const lengths = Buffer.from(parts.map(({ length }) => length).join());
  return hash('sha256', Buffer.concat([Buffer.from(signer.fingerprint), lengths, ...parts]), 'hex');
}

async function isSignatureBy(certificate: Certificate, algorithm: SignatureAlgorithm, signed: Buffer, signature: Buffer): Promise<boolean> {
  try {
    return await isSignatureOf(certificate.publicKey(), algorithm, signed, signature);
  } catch (error) {
    if (error instanceof Refusal) return false; // This key cannot have made the signature.
    throw error;
  }
}
