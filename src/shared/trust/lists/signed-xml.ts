import { constants, createHash, verify, X509Certificate } from 'node:crypto';
import { XmlC14NMode, type XmlDocument, type XmlElement } from 'libxml2-wasm';
import { ListRefusal } from './trusted-list.ts';
import { elements, only as onlyOf, parseXml } from './xml.ts';

/** `embedded`: the certificate inside the signature is taken, so that the signature proves only that the list was not damaged. */
export type Signers = readonly Uint8Array[] | 'embedded';

export const rootName = 'TrustServiceStatusList';
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const enveloped = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';
const signedPropertiesType = 'http://uri.etsi.org/01903#SignedProperties';

const digestMethods: Readonly<Record<string, string>> = {
  'http://www.w3.org/2001/04/xmlenc#sha256': 'sha256',
  'http://www.w3.org/2001/04/xmldsig-more#sha384': 'sha384',
  'http://www.w3.org/2001/04/xmlenc#sha512': 'sha512',
};
/** Real lists still name their signer by a SHA-1 digest. It only selects one of the named certificates, which are compared as a whole. */
const certificateDigestMethods: Readonly<Record<string, string>> = { ...digestMethods, 'http://www.w3.org/2000/09/xmldsig#sha1': 'sha1' };

const signatureMethods: Readonly<Record<string, { readonly key: 'rsa' | 'ec'; readonly hash: string; readonly isPss?: true }>> = {
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256': { key: 'rsa', hash: 'sha256' },
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha384': { key: 'rsa', hash: 'sha384' },
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512': { key: 'rsa', hash: 'sha512' },
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1': { key: 'rsa', hash: 'sha256', isPss: true },
  'http://www.w3.org/2007/05/xmldsig-more#sha384-rsa-MGF1': { key: 'rsa', hash: 'sha384', isPss: true },
  'http://www.w3.org/2007/05/xmldsig-more#sha512-rsa-MGF1': { key: 'rsa', hash: 'sha512', isPss: true },
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256': { key: 'ec', hash: 'sha256' },
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384': { key: 'ec', hash: 'sha384' },
  'http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512': { key: 'ec', hash: 'sha512' },
};
const curves = new Set(['prime256v1', 'secp384r1', 'secp521r1', 'brainpoolP256r1', 'brainpoolP384r1', 'brainpoolP512r1']);
const leastRsaBits = 2048;

/**
 * Verifies the enveloped XAdES signature of a list (ETSI TS 119 612 annex B), in a strict profile of XMLDSig: a verifier that supports less is
 * harder to mislead.
 *
 * @returns the octets that the signature covers, in canonical form, and the certificate that signed. Read only these octets: what the file has
 *   beside them, such as comments, is not signed.
 * @throws ListRefusal
 */
export function verifySignedXml(document: Uint8Array, signers: Signers): { readonly octets: Uint8Array; readonly signer: Uint8Array } {
  const xml = parseXml(document);
  try {
    const signature = findSignature(xml);
    refuseAmbiguities(xml);
    const signedInfo = only(signature, 'ds:SignedInfo');
    if (methodOf(signedInfo, 'ds:CanonicalizationMethod') !== exclusive) throw unsupported('The canonicalization is not exclusive.');
    const signedProperties = only(signature, 'ds:Object/xades:QualifyingProperties/xades:SignedProperties');
    const { ofDocument, ofProperties } = readReferences(signedInfo);
    const isWholeFile = ofDocument.uri === '';
    if (!isWholeFile && !idsOf(xml.root).includes(ofDocument.uri)) throw wrapped('The reference does not lead to the root of the list.');
    if (!idsOf(signedProperties).includes(ofProperties.uri)) throw wrapped('The reference does not lead to the signed properties.');

    const signer = findSigner(signature, signedProperties, signers);
    if (!verifyValue(signature, canonical(signedInfo, exclusive), signer)) throw altered('The signature value does not match.');
    if (!matches(ofProperties, canonical(signedProperties, ofProperties.transforms[0])))
      throw altered('The signed properties were changed.');
    signature.remove();
    const octets = canonical(isWholeFile ? xml : xml.root, exclusive);
    if (!matches(ofDocument, octets)) throw altered('The digest of the list does not match.');
    return { octets, signer };
  } finally {
    xml.dispose();
  }
}

function findSignature(xml: XmlDocument): XmlElement {
  const [signature, ...others] = elements(xml.root, '//ds:Signature');
  if (!signature) throw new ListRefusal(xml.root.name === rootName ? 'list_unsigned' : 'list_malformed');
  if (others.length > 0) throw new ListRefusal('list_several_signatures');
  if (!signature.parent?.isSameNode(xml.root)) throw wrapped('The signature is not a child of the root.');
  return signature;
}

/** Refuses what programs read in different ways: an id that two elements have, and a value in pieces. */
function refuseAmbiguities(xml: XmlDocument): void {
  const ids = xml.find('//@Id | //@ID | //@id | //@xml:id').map(({ content }) => content);
  if (new Set(ids).size < ids.length) throw wrapped('Two elements have the same id.');
  const [interrupted] = elements(xml.root, '//*[comment() or processing-instruction()][text()[normalize-space()]]');
  if (interrupted) throw new ListRefusal('list_comment_in_value', `It is inside ${interrupted.name}.`);
}

interface Reference {
  /** Empty: the whole file. Otherwise an id, without `#`. */
  readonly uri: string;
  readonly transforms: readonly string[];
  readonly hash: string;
  readonly digest: Buffer;
}

/** @throws ListRefusal unless one reference is to the document, and one to the signed properties */
function readReferences(signedInfo: XmlElement): { readonly ofDocument: Reference; readonly ofProperties: Reference } {
  const references = elements(signedInfo, 'ds:Reference');
  if (elements(signedInfo, '*').length !== references.length + 2) throw unsupported('SignedInfo has an unknown element.');
  const isOfProperties = (reference: XmlElement) => reference.attr('Type')?.content === signedPropertiesType;
  const properties = references.find(isOfProperties);
  const list = references.find((one) => !isOfProperties(one));
  if (references.length !== 2 || !list || !properties) {
    throw unsupported('There must be one reference to the list and one to the signed properties.');
  }
  const [ofDocument, ofProperties] = [readReference(list), readReference(properties)];
  const [first, second, ...others] = ofDocument.transforms;
  if (first !== enveloped || second !== exclusive || others.length > 0) {
    throw unsupported('The list may only be transformed by enveloped-signature and exclusive canonicalization.');
  }
  // Without a transform, the signed properties are canonicalized by inclusive C14N 1.0 (XMLDSig, clause 4.4.3.2). Some real lists are signed so.
  if (ofProperties.transforms.length > 1 || ofProperties.transforms.some((transform) => transform !== exclusive)) {
    throw unsupported('The signed properties may only be transformed by exclusive canonicalization.');
  }
  return { ofDocument, ofProperties };
}

function readReference(reference: XmlElement): Reference {
  const uri = reference.attr('URI')?.content;
  if (uri === undefined || !/^(#.+)?$/.test(uri)) throw wrapped('A reference leads out of the list.');
  const hash = digestMethods[methodOf(reference, 'ds:DigestMethod')];
  if (!hash) throw unsupported('A digest is neither SHA-256, SHA-384 nor SHA-512.');
  const [lists, transforms] = [elements(reference, 'ds:Transforms'), elements(reference, 'ds:Transforms/*').map(plainMethod)];
  if (lists.length > 1 || elements(reference, '*').length !== lists.length + 2) throw unsupported('A reference has an unknown element.');
  return { uri: uri.slice(1), transforms, hash, digest: base64Of(only(reference, 'ds:DigestValue')) };
}

/** Finds the certificate that the signed properties name by its digest among the ones that may sign. */
function findSigner(signature: XmlElement, signedProperties: XmlElement, signers: Signers): Uint8Array {
  const properties = 'xades:SignedSignatureProperties';
  const cert = 'xades:Cert/xades:CertDigest';
  const named = elements(
    signedProperties,
    `${properties}/xades:SigningCertificate/${cert} | ${properties}/xades:SigningCertificateV2/${cert}`,
  ).map((digest) => ({
    hash: certificateDigestMethods[methodOf(digest, 'ds:DigestMethod')],
    digest: base64Of(only(digest, 'ds:DigestValue')),
  }));
  if (named.length === 0) throw unsupported('The signed properties do not name the signing certificate.');
  const embedded = () => elements(signature, 'ds:KeyInfo/ds:X509Data/ds:X509Certificate').map(base64Of);
  const allowed = signers === 'embedded' ? embedded() : signers;
  const signer = allowed.find((certificate) =>
    named.some(({ hash, digest }) => hash !== undefined && createHash(hash).update(certificate).digest().equals(digest)),
  );
  if (!signer) throw new ListRefusal('list_wrong_signer');
  return signer;
}

function verifyValue(signature: XmlElement, signedInfo: Uint8Array, signer: Uint8Array): boolean {
  const method = signatureMethods[methodOf(only(signature, 'ds:SignedInfo'), 'ds:SignatureMethod')];
  if (!method) throw unsupported('The method of the signature is not accepted.');
  const { publicKey } = new X509Certificate(signer);
  const { modulusLength = 0, namedCurve = '' } = publicKey.asymmetricKeyDetails ?? {};
  const type = method.isPss && publicKey.asymmetricKeyType === 'rsa-pss' ? 'rsa' : publicKey.asymmetricKeyType;
  if (type !== method.key) throw unsupported('The method of the signature does not fit the key.');
  if (method.key === 'rsa' ? modulusLength < leastRsaBits : !curves.has(namedCurve))
    throw unsupported('The key of the signer is too weak.');
  const padding = method.isPss
    ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
    : { dsaEncoding: 'ieee-p1363' as const };
  return verify(method.hash, signedInfo, { key: publicKey, ...padding }, base64Of(only(signature, 'ds:SignatureValue')));
}

/** Exclusive canonicalization without comments; without a method, inclusive C14N 1.0. */
function canonical(of: XmlDocument | XmlElement, method: string | undefined): Uint8Array {
  const chunks: Uint8Array[] = [];
  const write = (chunk: Uint8Array): number => chunks.push(Uint8Array.from(chunk)) && chunk.length;
  const mode = method === exclusive ? XmlC14NMode.XML_C14N_EXCLUSIVE_1_0 : XmlC14NMode.XML_C14N_1_0;
  of.canonicalize({ write, close: () => true }, { mode });
  return Buffer.concat(chunks);
}

const matches = ({ hash, digest }: Reference, octets: Uint8Array): boolean => createHash(hash).update(octets).digest().equals(digest);

const only = (parent: XmlElement, path: string): XmlElement => onlyOf(parent, path, unsupported);

const methodOf = (parent: XmlElement, path: string): string => plainMethod(only(parent, path));

/** The algorithm of a method without parameters: any parameter could change what is signed. */
function plainMethod(method: XmlElement): string {
  if (elements(method, '*').length > 0) throw unsupported(`${method.name} has parameters.`);
  const algorithm = method.attr('Algorithm')?.content;
  if (!algorithm) throw unsupported(`${method.name} has no algorithm.`);
  return algorithm;
}

const idsOf = (element: XmlElement): string[] =>
  element.attrs.filter(({ name }) => name.toLowerCase() === 'id').map(({ content }) => content);

const base64Of = (element: XmlElement): Buffer => Buffer.from(element.content, 'base64');

const unsupported = (detail: string) => new ListRefusal('list_signature_unsupported', detail);
const wrapped = (detail: string) => new ListRefusal('list_signature_wrapped', detail);
const altered = (detail: string) => new ListRefusal('list_altered', detail);
