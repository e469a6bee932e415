import { hash } from 'node:crypto';
import { contentsOf, type Der, derOf, membersOf, TAG } from '../asn1/der.ts';
import { isSortedSet, oidOf } from '../asn1/der-values.ts';
import { OID } from '../asn1/oids.ts';
import { Refusal, refuse } from '../refusal/refusal.ts';
import { type SignatureAlgorithm, sameAlgorithm, signerAlgorithmOf } from '../x509/algorithms.ts';
import type { Certificate } from '../x509/certificate.ts';
import { isSignatureOf } from '../x509/public-key.ts';
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
 * @param attested the signer's certificate according to the signed attributes, if it differs from `signer`
 */
export async function checkSignature(signerInfo: SignerInfo, signer: Certificate, attested: Certificate | undefined): Promise<void> {
  const algorithm = signerAlgorithmOf(signerInfo.signatureAlgorithm, signerDigestOf(signerInfo), 'signatureAlgorithm');
  const signed = signedBytesOf(signerInfo);
  if (await isSignatureOf(signer.publicKey(), algorithm, signed, signerInfo.signature)) return;
  if (attested !== undefined && (await isSignatureBy(attested, algorithm, signed, signerInfo.signature))) {
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

/** The values of each attribute (RFC 5652 §5.3), by the dotted OID of its type. */
export type Attributes = ReadonlyMap<string, readonly Der[]>;

const SET_TAG = Buffer.from([TAG.set]);

/** Returns the signed octets: the signed attributes with the tag of a SET OF, instead of the `[0]` in the message (RFC 5652 §5.4). */
function signedBytesOf(signer: SignerInfo): Buffer {
  return Buffer.concat([SET_TAG, derOf(signer.signedAttributes).subarray(1)]);
}

/** Reads the signed attributes. Refuses a token in which an attribute occurs twice. */
export function signedAttributesOf(signer: SignerInfo): Attributes {
  const attributes = new Map<string, readonly Der[]>();
  for (const element of signer.signedAttributes.children) {
    const { type, values } = attributeOf(element);
    // Another reader may encode unsorted values again in sorted order, and would then check the signature over different octets.
    if (!isSortedSet(values)) refuse('der_not_canonical', `The values of the signed attribute ${type} are not in the order of DER.`);
    if (type === OID.signingTime && values.length !== 1)
      refuse('signed_attribute_repeated', 'signingTime does not have exactly one value.');
    if (attributes.has(type)) refuse(REPEATED[type] ?? 'signed_attribute_repeated', `The signed attribute ${type} occurs twice.`);
    attributes.set(type, values);
  }
  return attributes;
}

function attributeOf(element: Der): { type: string; values: readonly Der[] } {
  const members = membersOf(element, 'an attribute');
  const type = oidOf(members.take(TAG.oid, 'attrType'), 'attrType');
  const values = members.take(TAG.set, 'attrValues').children;
  members.end();
  return { type, values };
}

/** The attributes for which a second occurrence has its own refusal code. */
const REPEATED: Readonly<Record<string, 'content_type_attribute' | 'message_digest_attribute'>> = {
  [OID.contentType]: 'content_type_attribute',
  [OID.messageDigest]: 'message_digest_attribute',
};

/** The attributes that must be signed (RFC 5652 §11.1–§11.3, RFC 5035 §5, RFC 6211 §2). */
const ONLY_SIGNED: ReadonlySet<string> = new Set([
  OID.contentType,
  OID.messageDigest,
  OID.signingTime,
  OID.signingCertificate,
  OID.signingCertificateV2,
  OID.cmsAlgorithmProtection,
]);

/**
 * Checks the types of the unsigned attributes. Anyone may have added them, so their values are not read, and attributes that must be signed are
 * refused there.
 */
export function checkUnsignedAttributes({ unsignedAttributes }: SignerInfo): void {
  for (const element of unsignedAttributes?.children ?? []) {
    const { type } = attributeOf(element);
    if (ONLY_SIGNED.has(type)) refuse('unsigned_attribute', `The attribute ${type} is not among the signed ones.`);
  }
}
