import { type Der, derOf } from '../asn1/der.ts';
import { isSortedSet, oidOf } from '../asn1/der-values.ts';
import { membersOf } from '../asn1/members.ts';
import { OID } from '../asn1/oids.ts';
import { TAG } from '../asn1/tags.ts';
import { refuse } from '../refusal/refusal.ts';
import type { SignerInfo } from './signed-data.ts';

/** The values of each attribute (RFC 5652 §5.3), by the dotted OID of its type. */
export type Attributes = ReadonlyMap<string, readonly Der[]>;

const SET_TAG = Buffer.from([TAG.set]);

/** Returns the signed octets: the signed attributes with the tag of a SET OF, instead of the `[0]` in the message (RFC 5652 §5.4). */
export function signedBytesOf(signer: SignerInfo): Buffer {
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
