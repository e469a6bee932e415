import { constants, createHash, type KeyObject, type KeyPairKeyObjectResult, sign, X509Certificate } from 'node:crypto';
import { XmlC14NMode, XmlDocument } from 'libxml2-wasm';
import type { TrustedList } from '../../src/shared/trust/lists/trusted-list.ts';
import {
  basicConstraints,
  extendedKeyUsage,
  issueCertificate,
  KEY_USAGE,
  keyUsage,
  type SigningKey,
  subjectKeyIdentifier,
} from './certificates.ts';
import { DAY_MS, LAB_NOW_MS } from './tsa-lab.ts';

/** Makes signed trusted lists as the EU's countries publish them: ETSI TS 119 612, with an enveloped XAdES baseline B signature (EN 319 132-1). */

/** A name in English, or in several languages by their code, in this order. */
export type Names = string | Readonly<Record<string, string>>;

export interface ListedPeriod {
  /** Without the address before it, such as `TSA/QTST`. */
  type: string;
  name: Names;
  /** Without the address before it, such as `granted`. */
  status: string;
  since: string;
}

export interface ListedService extends ListedPeriod {
  /** DER. */
  certificates?: readonly Uint8Array[];
  /** Newest first. */
  history?: readonly (ListedPeriod & Pick<ListedService, 'certificates'>)[];
}

export interface ListedPointer {
  territory: string;
  location: string;
  kind?: TrustedList['kind'];
  signers: readonly Uint8Array[];
  mimeType?: string;
}

export type XmlSignatureAlgorithm = `${'rsa' | 'rsa-pss' | 'ecdsa'}-${'sha256' | 'sha384' | 'sha512'}` | 'rsa-sha1';
type Digest = 'sha1' | 'sha256' | 'sha384' | 'sha512';

export interface ListSigner {
  key: KeyObject;
  /** DER. */
  certificate: Buffer;
  algorithm: XmlSignatureAlgorithm;
}

export interface SigningDetails {
  /** The digest of both references; default SHA-256. */
  digest?: Digest;
  /** What the document's reference names; default: the empty address, which means the whole document. */
  documentUri?: '' | `#${typeof ROOT_ID}`;
  /** No transform for the signed properties, which means inclusive canonicalization. The Austrian list does this. */
  plainProperties?: boolean;
  /** Instead of a SigningCertificateV2 that names the signer's certificate. */
  signingCertificate?: string;
  /** Instead of the signer's certificate in the KeyInfo. */
  keyInfoCertificate?: Uint8Array;
  /** Changes the SignedInfo before it is signed. */
  signedInfo?: (xml: string) => string;
  /** Makes the signature value from the canonical SignedInfo, instead of the signer's algorithm. */
  value?: (signedInfo: Buffer) => Buffer;
}

export interface ListOptions {
  version?: number;
  kind?: TrustedList['kind'];
  territory?: string;
  sequenceNumber?: number | string;
  operatorName?: Names;
  issuedAt?: string;
  /** Null makes an empty NextUpdate, as in the last list of a closed scheme. */
  nextUpdate?: string | null;
  /** Addresses of older lists of lists, newest first, and perhaps of newer announcements in the Official Journal. The oldest announcement follows them. */
  pivots?: readonly string[];
  pointers?: readonly ListedPointer[];
  providers?: readonly { name: Names; services: readonly ListedService[] }[];
  /** Changes the list before it is signed, so that the signature covers the change. */
  beforeSigning?: (xml: string) => string;
  signed?: ListSigner & SigningDetails;
  afterSigning?: (xml: string) => string;
}

export const ROOT_ID = 'TrustedList';
export const OFFICIAL_JOURNAL = 'https://eur-lex.europa.eu/legal-content/EN/TXT/?uri=uriserv:OJ.C_.2019.276.01.0001.01.ENG';
export const NAMESPACE = {
  tsl: 'http://uri.etsi.org/02231/v2#',
  tslx: 'http://uri.etsi.org/02231/v2/additionaltypes#',
  ds: 'http://www.w3.org/2000/09/xmldsig#',
  xades: 'http://uri.etsi.org/01903/v1.3.2#',
};
export const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#';
export const DIGEST_URI: Readonly<Record<Digest, string>> = {
  sha1: `${NAMESPACE.ds}sha1`,
  sha256: 'http://www.w3.org/2001/04/xmlenc#sha256',
  sha384: 'http://www.w3.org/2001/04/xmldsig-more#sha384',
  sha512: 'http://www.w3.org/2001/04/xmlenc#sha512',
};

/** Makes a trusted list; without `signed`, a list without a signature. */
export function makeTrustedList(options: ListOptions): Buffer {
  const { beforeSigning = unchanged, afterSigning = unchanged } = options;
  const list = beforeSigning(listXml(options));
  return Buffer.from(afterSigning(options.signed === undefined ? list : signedXml(list, options.signed)));
}

/** A self-signed certificate for the signer of a list, with the key usage that TS 119 612 clause 5.7.1 requires. */
export function makeListSigner(
  pair: KeyPairKeyObjectResult,
  scheme: SigningKey['scheme'],
  algorithm: XmlSignatureAlgorithm,
  commonName = 'List signer',
): ListSigner {
  const template = {
    commonName,
    serial: 1n,
    notBeforeMs: LAB_NOW_MS - 365 * DAY_MS,
    notAfterMs: LAB_NOW_MS + 365 * DAY_MS,
    extensions: [
      basicConstraints(false),
      keyUsage(KEY_USAGE.digitalSignature),
      extendedKeyUsage(['0.4.0.2231.3.0'], false),
      subjectKeyIdentifier(pair.publicKey),
    ],
  };
  const { certificate } = issueCertificate(template, { ...pair, scheme });
  return { key: pair.privateKey, certificate, algorithm };
}

/** The signed property that names the signer's certificate; the digest of version 1 is usually SHA-1. */
export function signingCertificate(certificate: Buffer, version: 1 | 2 = 2, digest: Digest = version === 1 ? 'sha1' : 'sha256'): string {
  const { issuer, serialNumber } = new X509Certificate(certificate);
  const name = text(issuer.split('\n').reverse().join(', '));
  const issuerSerial = `<ds:X509IssuerName>${name}</ds:X509IssuerName><ds:X509SerialNumber>${BigInt(`0x${serialNumber}`)}</ds:X509SerialNumber>`;
  return element(
    version === 1 ? 'xades:SigningCertificate' : 'xades:SigningCertificateV2',
    `<xades:Cert><xades:CertDigest>${digestXml(digest, hash(digest, certificate))}</xades:CertDigest>${
      version === 1 ? element('xades:IssuerSerial', issuerSerial) : ''
    }</xades:Cert>`,
  );
}

const unchanged = (xml: string): string => xml;

// The list

function listXml(options: ListOptions): string {
  const { kind = 'country_list', territory = kind === 'list_of_lists' ? 'EU' : 'SE', nextUpdate = '2027-05-01T00:00:00Z' } = options;
  const { pivots = [], pointers = [], providers = [] } = options;
  const operator = names('SchemeOperatorName', options.operatorName ?? 'Office of Tests');
  const rules = kind === 'list_of_lists' ? 'EUlistofthelists' : 'EUcommon';
  const information = kind === 'list_of_lists' ? [...pivots, OFFICIAL_JOURNAL] : [];
  return `<?xml version="1.0" encoding="UTF-8"?>
<TrustServiceStatusList xmlns="${NAMESPACE.tsl}" xmlns:ns3="${NAMESPACE.tslx}" Id="${ROOT_ID}" TSLTag="http://uri.etsi.org/19612/TSLTag">
  <SchemeInformation>
    <TSLVersionIdentifier>${options.version ?? 5}</TSLVersionIdentifier>
    <TSLSequenceNumber>${options.sequenceNumber ?? 1}</TSLSequenceNumber>
    <TSLType>${listType(kind)}</TSLType>
    ${operator}
    ${element('SchemeOperatorAddress', ADDRESS)}
    ${names('SchemeName', `${territory}:A list for tests`)}
    ${element('SchemeInformationURI', [...information, 'https://lists.example/about.html'].map(uri).join(''))}
    <StatusDeterminationApproach>http://uri.etsi.org/TrstSvc/TrustedList/StatusDetn/EUappropriate</StatusDeterminationApproach>
    ${element('SchemeTypeCommunityRules', uri(`http://uri.etsi.org/TrstSvc/TrustedList/schemerules/${rules}`))}
    <SchemeTerritory>${text(territory)}</SchemeTerritory>
    <PolicyOrLegalNotice><TSLLegalNotice xml:lang="en">Only for tests.</TSLLegalNotice></PolicyOrLegalNotice>
    <HistoricalInformationPeriod>65535</HistoricalInformationPeriod>
    ${pointers.length === 0 ? '' : element('PointersToOtherTSL', pointers.map(pointerXml).join(''))}
    <ListIssueDateTime>${options.issuedAt ?? '2026-11-01T00:00:00Z'}</ListIssueDateTime>
    <NextUpdate>${nextUpdate === null ? '' : element('dateTime', nextUpdate)}</NextUpdate>
  </SchemeInformation>
  ${providers.length === 0 ? '' : element('TrustServiceProviderList', providers.map(providerXml).join(''))}
</TrustServiceStatusList>
`;
}

function pointerXml({
  territory,
  location,
  kind = 'country_list',
  signers,
  mimeType = 'application/vnd.etsi.tsl+xml',
}: ListedPointer): string {
  const identities = signers.map((signer) => element('ServiceDigitalIdentity', certificateId(signer))).join('');
  const information = [
    element('TSLType', listType(kind)),
    names('SchemeOperatorName', `Operator of ${territory}`),
    element('SchemeTerritory', territory),
    element('ns3:MimeType', mimeType),
  ];
  return `
      <OtherTSLPointer>
        ${element('ServiceDigitalIdentities', identities)}
        <TSLLocation>${text(location)}</TSLLocation>
        ${element('AdditionalInformation', information.map((one) => element('OtherInformation', one)).join(''))}
      </OtherTSLPointer>`;
}

function providerXml({ name, services }: NonNullable<ListOptions['providers']>[number]): string {
  return `
    <TrustServiceProvider>
      <TSPInformation>
        ${names('TSPName', name)}
        ${names('TSPTradeName', 'VATSE-1')}
        ${element('TSPAddress', ADDRESS)}
        ${element('TSPInformationURI', uri('https://provider.example/'))}
      </TSPInformation>
      ${element('TSPServices', services.map(serviceXml).join(''))}
    </TrustServiceProvider>`;
}

function serviceXml(service: ListedService): string {
  const history = (service.history ?? []).map((period) => element('ServiceHistoryInstance', periodXml(period)));
  return `
        <TSPService>
          <ServiceInformation>${periodXml(service)}</ServiceInformation>
          ${history.length === 0 ? '' : element('ServiceHistory', history.join(''))}
        </TSPService>`;
}

function periodXml({ type, name, status, since, certificates = [] }: ListedService): string {
  return `
            <ServiceTypeIdentifier>http://uri.etsi.org/TrstSvc/Svctype/${type}</ServiceTypeIdentifier>
            ${names('ServiceName', name)}
            ${element('ServiceDigitalIdentity', certificates.map(certificateId).join(''))}
            <ServiceStatus>http://uri.etsi.org/TrstSvc/TrustedList/Svcstatus/${status}</ServiceStatus>
            <StatusStartingTime>${since}</StatusStartingTime>`;
}

const text = (value: string): string => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const element = (name: string, content: string): string => `<${name}>${content}</${name}>`;
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const uri = (address: string): string => `<URI xml:lang="en">${text(address)}</URI>`;
const certificateId = (der: Uint8Array): string => element('DigitalId', element('X509Certificate', base64(der)));
const listType = (kind: TrustedList['kind']): string =>
  `http://uri.etsi.org/TrstSvc/TrustedList/TSLType/${kind === 'list_of_lists' ? 'EUlistofthelists' : 'EUgeneric'}`;

function names(parent: string, name: Names): string {
  const byLanguage = Object.entries(typeof name === 'string' ? { en: name } : name);
  return element(parent, byLanguage.map(([language, value]) => `<Name xml:lang="${language}">${text(value)}</Name>`).join(''));
}

const ADDRESS = `<PostalAddresses><PostalAddress xml:lang="en"><StreetAddress>Street 1</StreetAddress><Locality>Town</Locality>
    <CountryName>SE</CountryName></PostalAddress></PostalAddresses><ElectronicAddress>${uri('mailto:lists@office.example')}</ElectronicAddress>`;

// The signature

/** Adds the signature as the last child of the root. The digest of the list is that of the list without it, as the enveloped transform requires. */
function signedXml(list: string, how: ListSigner & SigningDetails): string {
  const { digest = 'sha256', documentUri = '', plainProperties = false } = how;
  const end = list.lastIndexOf('</');
  const withSignature = (digests: readonly string[], value: string): string =>
    list.slice(0, end) + signatureXml(how, digests, value) + list.slice(end);
  const propertiesMode = plainProperties ? XmlC14NMode.XML_C14N_1_0 : XmlC14NMode.XML_C14N_EXCLUSIVE_1_0;
  const digests = [
    hash(digest, canonical(list, documentUri === '' ? undefined : '/*')),
    hash(digest, canonical(withSignature([], ''), '//xades:SignedProperties', propertiesMode)),
  ];
  const signedInfo = canonical(withSignature(digests, ''), '//ds:SignedInfo');
  return withSignature(digests, base64((how.value ?? signerOf(how))(signedInfo)));
}

function signatureXml(how: ListSigner & SigningDetails, digests: readonly string[], value: string): string {
  const { digest = 'sha256', documentUri = '', certificate, signedInfo = unchanged, keyInfoCertificate = certificate } = how;
  const transforms = (...algorithms: string[]): string =>
    element('ds:Transforms', algorithms.map((algorithm) => `<ds:Transform Algorithm="${algorithm}"/>`).join(''));
  const [ofDocument, ofProperties] = [0, 1].map((index) => digestXml(digest, digests[index] ?? ''));
  const document = `<ds:Reference Id="list-reference" URI="${documentUri}">${transforms(`${NAMESPACE.ds}enveloped-signature`, EXCLUSIVE)}${ofDocument}</ds:Reference>`;
  const properties = `<ds:Reference Type="http://uri.etsi.org/01903#SignedProperties" URI="#properties">${
    how.plainProperties ? '' : transforms(EXCLUSIVE)
  }${ofProperties}</ds:Reference>`;
  const methods = `<ds:CanonicalizationMethod Algorithm="${EXCLUSIVE}"/><ds:SignatureMethod Algorithm="${methodUri(how.algorithm)}"/>`;
  const signedProperties = `<xades:SignedProperties Id="properties"><xades:SignedSignatureProperties><xades:SigningTime>2026-11-01T00:00:00Z</xades:SigningTime>${
    how.signingCertificate ?? signingCertificate(certificate)
  }</xades:SignedSignatureProperties><xades:SignedDataObjectProperties><xades:DataObjectFormat ObjectReference="#list-reference"><xades:MimeType>text/xml</xades:MimeType></xades:DataObjectFormat></xades:SignedDataObjectProperties></xades:SignedProperties>`;
  return [
    `<ds:Signature xmlns:ds="${NAMESPACE.ds}" Id="signature">`,
    signedInfo(element('ds:SignedInfo', methods + document + properties)),
    element('ds:SignatureValue', value),
    element('ds:KeyInfo', element('ds:X509Data', element('ds:X509Certificate', base64(keyInfoCertificate)))),
    `<ds:Object><xades:QualifyingProperties xmlns:xades="${NAMESPACE.xades}" Target="#signature">${signedProperties}</xades:QualifyingProperties></ds:Object>`,
    '</ds:Signature>',
  ].join('');
}

const digestXml = (digest: Digest, value: string): string =>
  `<ds:DigestMethod Algorithm="${DIGEST_URI[digest]}"/>${element('ds:DigestValue', value)}`;

const hash = (digest: Digest, bytes: Uint8Array): string => createHash(digest).update(bytes).digest('base64');

/** The canonical form of the whole document, or of one element. */
function canonical(xml: string, path?: string, mode: 0 | 1 = XmlC14NMode.XML_C14N_EXCLUSIVE_1_0): Buffer {
  using document = XmlDocument.fromString(xml);
  const node = path === undefined ? document : document.get(path, NAMESPACE);
  return Buffer.from(node!.canonicalizeToString({ mode }));
}

const digestOf = (algorithm: XmlSignatureAlgorithm): Digest => algorithm.slice(algorithm.lastIndexOf('-') + 1) as Digest;

/** RFC 9231 §2.3; PSS with the defaults that §2.3.10 gives: MGF1 of the same digest, and a salt of its length. */
export function methodUri(algorithm: XmlSignatureAlgorithm): string {
  if (algorithm === 'rsa-sha1') return `${NAMESPACE.ds}rsa-sha1`;
  if (algorithm.startsWith('rsa-pss')) return `http://www.w3.org/2007/05/xmldsig-more#${digestOf(algorithm)}-rsa-MGF1`;
  return `http://www.w3.org/2001/04/xmldsig-more#${algorithm}`;
}

function signerOf({ key, algorithm }: ListSigner): (data: Buffer) => Buffer {
  const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
  return (data) => sign(digestOf(algorithm), data, { key, dsaEncoding: 'ieee-p1363', ...(algorithm.startsWith('rsa-pss') ? pss : {}) });
}
