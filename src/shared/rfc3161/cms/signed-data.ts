import { contentsOf, type Der, derOf, inside, membersOf, TAG } from '../asn1/der.ts';
import { isSortedSet, oidOf, smallIntegerOf } from '../asn1/der-values.ts';
import { OID } from '../asn1/oids.ts';
import { refuse } from '../refusal/refusal.ts';
import {
  type AlgorithmIdentifier,
  algorithmIdentifierOf,
  type DigestAlgorithm,
  digestOf,
  hasNoParameters,
  SIGNATURE_CODES,
} from '../x509/algorithms.ts';

/** A TimeStampToken as CMS SignedData (RFC 5652 §3, §5.1) with its one signer. */
export interface SignedData {
  /** DER of TSTInfo. */
  readonly eContent: Buffer;
  /** CertificateChoices, in the order of the token; X.509 certificates are the only choice that is accepted when they are read. */
  readonly certificates: readonly Der[];
  readonly signer: SignerInfo;
}

/** RFC 5652 §5.3. */
export interface SignerInfo {
  readonly sid: SignerIdentifier;
  readonly digestAlgorithm: DigestAlgorithm;
  readonly digestAlgorithmDer: Der;
  readonly signatureAlgorithm: AlgorithmIdentifier;
  readonly signatureAlgorithmDer: Der;
  /** `[0] IMPLICIT SET OF Attribute`, as it came. */
  readonly signedAttributes: Der;
  readonly signature: Buffer;
}

export type SignerIdentifier =
  | { readonly kind: 'issuerAndSerialNumber'; readonly issuer: Buffer; readonly serialNumber: Buffer }
  | { readonly kind: 'subjectKeyIdentifier'; readonly keyIdentifier: Buffer };

const MAX_CERTIFICATES = 32;

/** Reads a ContentInfo with SignedData over TSTInfo (refusals 10–12, 24–26). */
export function signedDataOf(token: Der): SignedData {
  const contentInfo = membersOf(token, 'ContentInfo');
  const contentType = oidOf(contentInfo.take(TAG.oid, 'contentType'), 'contentType');
  if (contentType !== OID.signedData) refuse('not_signed_data', `The content is of type ${contentType}.`);
  const content = contentInfo.take(TAG.contextConstructed(0), 'content');
  contentInfo.end();

  const members = membersOf(inside(content, 'content'), 'SignedData');
  const version = smallIntegerOf(members.take(TAG.integer, 'version'));
  const digestAlgorithms = members.take(TAG.set, 'digestAlgorithms');
  const eContent = eContentOf(members.take(TAG.sequence, 'encapContentInfo'));
  const certificates = members.optional(TAG.contextConstructed(0))?.children ?? [];
  const crls = members.optional(TAG.contextConstructed(1))?.children ?? [];
  const signerInfos = members.take(TAG.set, 'signerInfos').children;
  members.end();

  if (certificates.length > MAX_CERTIFICATES) refuse('der_too_large', `The token has more than ${MAX_CERTIFICATES} certificates.`);
  // RFC 5652 §5.1: 3, as the content is not id-data; 5 when there is revocation information that is no CRL.
  const expectedVersion = crls.some((crl) => crl.tag !== TAG.sequence) ? 5 : 3;
  if (version !== expectedVersion) refuse('cms_version', `SignedData is of version ${version} instead of ${expectedVersion}.`);

  const [signerInfo, another] = signerInfos;
  if (signerInfo === undefined) refuse('signer_missing', 'There is no SignerInfo.');
  if (another !== undefined) refuse('signer_not_single', `There are ${signerInfos.length} SignerInfos.`);
  const signer = signerInfoOf(signerInfo);
  const announced = digestAlgorithms.children.map((child) => algorithmIdentifierOf(child, 'a digest algorithm of SignedData'));
  const isAnnounced = announced.every(hasNoParameters) && announced.some(({ oid }) => oid === OID[signer.digestAlgorithm]);
  if (!isAnnounced) refuse('signature_algorithm_mismatch', 'The digest of the signer is not among those of SignedData.');
  return { eContent, certificates, signer };
}

/** EncapsulatedContentInfo (RFC 5652 §5.2). */
function eContentOf(element: Der): Buffer {
  const members = membersOf(element, 'encapContentInfo');
  const type = oidOf(members.take(TAG.oid, 'eContentType'), 'eContentType');
  if (type !== OID.tstInfo) refuse('not_tst_info', `The signed content is of type ${type}.`);
  const explicit = members.optional(TAG.contextConstructed(0));
  members.end();
  if (explicit === undefined) refuse('content_missing', 'The signed content is not in the token.');
  const octets = inside(explicit, 'eContent');
  if (octets.tag !== TAG.octetString) refuse('der_malformed', 'eContent is not an OCTET STRING.');
  if (octets.content === octets.end) refuse('content_missing', 'The signed content is empty.');
  return contentsOf(octets);
}

function signerInfoOf(element: Der): SignerInfo {
  const members = membersOf(element, 'SignerInfo');
  const version = smallIntegerOf(members.take(TAG.integer, 'version'));
  const sid = signerIdentifierOf(members.any('sid'));
  const digestAlgorithmDer = members.take(TAG.sequence, 'digestAlgorithm');
  const signedAttributes = members.optional(TAG.contextConstructed(0));
  const signatureAlgorithmDer = members.take(TAG.sequence, 'signatureAlgorithm');
  const signature = contentsOf(members.take(TAG.octetString, 'signature'));
  members.optional(TAG.contextConstructed(1)); // unsignedAttrs: anybody may have added them, so nothing is taken from them.
  members.end();

  // RFC 5652 §5.3.
  const expectedVersion = sid.kind === 'issuerAndSerialNumber' ? 1 : 3;
  if (version !== expectedVersion) refuse('cms_version', `SignerInfo is of version ${version} instead of ${expectedVersion}.`);
  if (signedAttributes === undefined || signedAttributes.children.length === 0) {
    refuse('signed_attributes_missing', 'SignerInfo has no signed attributes.');
  }
  if (!isSortedSet(signedAttributes.children)) {
    refuse('der_not_canonical', 'The signed attributes are not in the order of DER, as RFC 5652 §5.3 requires.');
  }
  return {
    sid,
    digestAlgorithm: digestOf(algorithmIdentifierOf(digestAlgorithmDer, 'digestAlgorithm'), 'digestAlgorithm', SIGNATURE_CODES),
    digestAlgorithmDer,
    signatureAlgorithm: algorithmIdentifierOf(signatureAlgorithmDer, 'signatureAlgorithm'),
    signatureAlgorithmDer,
    signedAttributes,
    signature,
  };
}

function signerIdentifierOf(element: Der): SignerIdentifier {
  if (element.tag === TAG.context(0)) return { kind: 'subjectKeyIdentifier', keyIdentifier: contentsOf(element) };
  const members = membersOf(element, 'sid');
  const issuer = derOf(members.take(TAG.sequence, 'issuer'));
  const serialNumber = derOf(members.take(TAG.integer, 'serialNumber'));
  members.end();
  return { kind: 'issuerAndSerialNumber', issuer, serialNumber };
}

const SET_TAG = Buffer.from([TAG.set]);

/** What the signature covers: the attributes with the tag of a SET OF in place of the `[0]` that they are sent with (RFC 5652 §5.4). */
export function signedBytesOf(signer: SignerInfo): Buffer {
  return Buffer.concat([SET_TAG, derOf(signer.signedAttributes).subarray(1)]);
}

/** Attribute (RFC 5652 §5.3): the values of each type. */
export function attributesOf(signer: SignerInfo): ReadonlyMap<string, readonly Der[]> {
  const attributes = new Map<string, readonly Der[]>();
  for (const element of signer.signedAttributes.children) {
    const members = membersOf(element, 'a signed attribute');
    const type = oidOf(members.take(TAG.oid, 'attrType'), 'attrType');
    const values = members.take(TAG.set, 'attrValues').children;
    members.end();
    if (attributes.has(type)) refuse(REPEATED[type] ?? 'signed_attribute_repeated', `The signed attribute ${type} is there twice.`);
    attributes.set(type, values);
  }
  return attributes;
}

/** For these attributes, being there twice has a refusal of its own. */
const REPEATED: Readonly<Record<string, 'content_type_attribute' | 'message_digest_attribute'>> = {
  [OID.contentType]: 'content_type_attribute',
  [OID.messageDigest]: 'message_digest_attribute',
};
