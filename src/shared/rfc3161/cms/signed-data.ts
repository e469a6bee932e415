import { contentsOf, type Der, derOf, inside, membersOf, parseDer, TAG } from '../asn1/der.ts';
import { isSortedSet, oidOf } from '../asn1/der-values.ts';
import { contextConstructed, integer, sequence } from '../asn1/der-writer.ts';
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

/** The contents of a TimeStampToken: CMS SignedData (RFC 5652 §3, §5.1) with exactly one signer. */
export interface SignedData {
  /** DER of TSTInfo. */
  readonly eContent: Buffer;
  /** The X.509 certificates, in the order of the token. */
  readonly certificates: readonly Der[];
  /** The parts of the token that are not used. */
  readonly unusedParts: UnusedParts;
  readonly signer: SignerInfo;
}

/** Shows which parts of a token are not used. */
export interface UnusedParts {
  /** Attribute certificates, and certificates in other forms than X.509 (RFC 5652 §10.2.2). */
  readonly hasOtherCertificates: boolean;
  /** CRLs and OCSP responses (RFC 5652 §10.2.1). */
  readonly hasRevocationData: boolean;
  readonly hasUnsignedAttributes: boolean;
}

/** A SignerInfo (RFC 5652 §5.3). */
export interface SignerInfo {
  readonly sid: SignerIdentifier;
  /** `signerDigestOf` judges it later. So a token for another document is refused as such, whatever its algorithms are. */
  readonly digestAlgorithm: AlgorithmIdentifier;
  /** Whether SignedData announces this digest (RFC 5652 §5.1). */
  readonly isAnnounced: boolean;
  readonly digestAlgorithmDer: Der;
  readonly signatureAlgorithm: AlgorithmIdentifier;
  readonly signatureAlgorithmDer: Der;
  /** `[0] IMPLICIT SET OF Attribute`, exactly as received. */
  readonly signedAttributes: Der;
  readonly signature: Buffer;
  /** `[1] IMPLICIT SET OF Attribute`. */
  readonly unsignedAttributes: Der | undefined;
}

export type SignerIdentifier =
  | { readonly kind: 'issuerAndSerialNumber'; readonly issuer: Buffer; readonly serialNumber: Buffer }
  | { readonly kind: 'subjectKeyIdentifier'; readonly keyIdentifier: Buffer };

/** These limits are much higher than any token needs. They exist because each element costs some time, even if it is not used. */
const MAX_CERTIFICATES = 256;
const MAX_DIGEST_ALGORITHMS = 16;
const MAX_UNSIGNED_ATTRIBUTES = 256;

function checkCount(elements: readonly Der[], most: number, what: string): void {
  if (elements.length > most) refuse('der_too_large', `The token has more than ${most} ${what}.`);
}

/**
 * Reads a ContentInfo with SignedData over TSTInfo (refusals 10–12, 24–26). The version numbers of SignedData and SignerInfo are not compared with the
 * contents (RFC 5652 §5.1, §5.3): nobody signs them, they change no meaning, and OpenSSL ignores them too.
 */
export function signedDataOf(token: Der): SignedData {
  const contentInfo = membersOf(token, 'ContentInfo');
  const contentType = oidOf(contentInfo.take(TAG.oid, 'contentType'), 'contentType');
  if (contentType !== OID.signedData) refuse('not_signed_data', `The content is of type ${contentType}.`);
  const content = contentInfo.take(TAG.contextConstructed(0), 'content');
  contentInfo.end();

  const members = membersOf(inside(content, 'content'), 'SignedData');
  members.take(TAG.integer, 'version');
  const digestAlgorithms = members.take(TAG.set, 'digestAlgorithms');
  const eContent = eContentOf(members.take(TAG.sequence, 'encapContentInfo'));
  const choices = members.optional(TAG.contextConstructed(0))?.children ?? [];
  const crls = members.optional(TAG.contextConstructed(1))?.children ?? [];
  const signerInfos = members.take(TAG.set, 'signerInfos').children;
  members.end();

  checkCount(choices, MAX_CERTIFICATES, 'certificates');
  checkCount(digestAlgorithms.children, MAX_DIGEST_ALGORITHMS, 'digest algorithms');
  if (choices.some(({ tag }) => !CHOICES.has(tag))) refuse('der_malformed', 'One of the certificates is not a certificate.');

  const [signerInfo, another] = signerInfos;
  if (signerInfo === undefined) refuse('signer_missing', 'There is no SignerInfo.');
  if (another !== undefined) refuse('signer_not_single', `There are ${signerInfos.length} SignerInfos.`);
  const signer = signerInfoOf(signerInfo);
  const announced = digestAlgorithms.children.map((child) => algorithmIdentifierOf(child, 'a digest algorithm of SignedData'));
  const isAnnounced = announced.every(hasNoParameters) && announced.some(({ oid }) => oid === signer.digestAlgorithm.oid);
  const certificates = choices.filter(({ tag }) => tag === TAG.sequence);
  const unusedParts = {
    hasOtherCertificates: certificates.length < choices.length,
    hasRevocationData: crls.length > 0,
    hasUnsignedAttributes: signer.unsignedAttributes !== undefined,
  };
  return { eContent, certificates, unusedParts, signer: { ...signer, isAnnounced } };
}

/** The tags of CertificateChoices (RFC 5652 §10.2.2): X.509, extended, attribute certificates of version 1 and 2, and other forms. */
const CHOICES: ReadonlySet<number> = new Set([TAG.sequence, ...[0, 1, 2, 3].map(TAG.contextConstructed)]);

/**
 * Removes the certificates from a TimeStampToken, for clients that did not request them (RFC 3161 §2.4.2). The certificates are not signed, so the
 * signature stays valid.
 *
 * @throws Refusal if the input is not the DER of a token
 */
export function withoutCertificates(token: Uint8Array): Buffer {
  const [contentType, content] = parseDer(token).children;
  const signedData = inside(content ?? refuse('der_malformed', 'ContentInfo has no content.'), 'content');
  const [version, ...rest] = signedData.children.filter(({ tag }) => tag !== TAG.contextConstructed(0));
  if (contentType === undefined || version === undefined) refuse('der_malformed', 'SignedData is empty.');
  const crls = rest.find(({ tag }) => tag === TAG.contextConstructed(1))?.children ?? [];
  // RFC 5652 §5.1: without certificates, the version is 5 if there is revocation data that is not a CRL.
  const stripped = sequence(integer(crls.some(({ tag }) => tag !== TAG.sequence) ? 5 : 3), ...rest.map(derOf));
  return sequence(derOf(contentType), contextConstructed(0, stripped));
}

/** Reads the signed content from an EncapsulatedContentInfo (RFC 5652 §5.2). */
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

function signerInfoOf(element: Der): Omit<SignerInfo, 'isAnnounced'> {
  const members = membersOf(element, 'SignerInfo');
  members.take(TAG.integer, 'version');
  const sid = signerIdentifierOf(members.any('sid'));
  const digestAlgorithmDer = members.take(TAG.sequence, 'digestAlgorithm');
  const signedAttributes = members.optional(TAG.contextConstructed(0));
  const signatureAlgorithmDer = members.take(TAG.sequence, 'signatureAlgorithm');
  const signature = contentsOf(members.take(TAG.octetString, 'signature'));
  const unsignedAttributes = members.optional(TAG.contextConstructed(1));
  members.end();
  checkCount(unsignedAttributes?.children ?? [], MAX_UNSIGNED_ATTRIBUTES, 'unsigned attributes');

  if (signedAttributes === undefined || signedAttributes.children.length === 0) {
    refuse('signed_attributes_missing', 'SignerInfo has no signed attributes.');
  }
  if (!isSortedSet(signedAttributes.children)) {
    refuse('der_not_canonical', 'The signed attributes are not in the order of DER, as RFC 5652 §5.3 requires.');
  }
  return {
    sid,
    digestAlgorithm: algorithmIdentifierOf(digestAlgorithmDer, 'digestAlgorithm'),
    digestAlgorithmDer,
    signatureAlgorithm: algorithmIdentifierOf(signatureAlgorithmDer, 'signatureAlgorithm'),
    signatureAlgorithmDer,
    signedAttributes,
    signature,
    unsignedAttributes,
  };
}

/** Returns the digest of a signature (refusal 46). @throws Refusal if it is weak, not known or not announced */
export function signerDigestOf({ digestAlgorithm, isAnnounced }: SignerInfo): DigestAlgorithm {
  const digest = digestOf(digestAlgorithm, 'digestAlgorithm', SIGNATURE_CODES);
  if (!isAnnounced) refuse('signature_algorithm_mismatch', 'The digest of the signer is not among those of SignedData.');
  return digest;
}

function signerIdentifierOf(element: Der): SignerIdentifier {
  if (element.tag === TAG.context(0)) return { kind: 'subjectKeyIdentifier', keyIdentifier: contentsOf(element) };
  const members = membersOf(element, 'sid');
  const issuer = derOf(members.take(TAG.sequence, 'issuer'));
  const serialNumber = derOf(members.take(TAG.integer, 'serialNumber'));
  members.end();
  return { kind: 'issuerAndSerialNumber', issuer, serialNumber };
}
