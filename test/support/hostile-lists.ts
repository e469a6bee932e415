import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { SCHEMES } from '../../src/shared/rfc3161/issue/sign.ts';
import type { ListFault } from '../../src/shared/trust/lists/trusted-list.ts';
import { rsaKey } from './rsa-keys.ts';
import { keys } from './signature-lab.ts';
import {
  DIGEST_URI,
  EXCLUSIVE,
  type ListOptions,
  type ListSigner,
  makeListSigner,
  makeTrustedList,
  methodUri,
  NAMESPACE,
  ROOT_ID,
  type SigningDetails,
  signingCertificate,
} from './trusted-lists.ts';

/** Trusted lists that a reader must take, and lists that it must refuse, each for one reason. */

export interface ListCase {
  name: string;
  document: Buffer;
  /** The certificates that the list may be signed with, DER. */
  signers: Buffer[];
  code: ListFault | 'taken';
}

/** A document signed by `signer`, or one with other signers. */
type Made = Buffer | Pick<ListCase, 'document' | 'signers'>;

const signer = makeListSigner(keys.rsa, SCHEMES.rsaSha256, 'rsa-sha256');
const other = makeListSigner(keys['rsa-3072'], SCHEMES.rsaSha256, 'rsa-sha256', 'Another signer');
const namesake = makeListSigner(keys['rsa-3072'], SCHEMES.rsaSha256, 'rsa-sha256');
const ecSigner = makeListSigner(keys['p-256'], SCHEMES.ecdsaSha256, 'ecdsa-sha256');

const LIMIT_OCTETS = 16 * 2 ** 20;
const OCTETS_50_MB = 50 * 10 ** 6;

export function hostileLists(): ListCase[] {
  return Object.entries({ ...taken(), ...refusedDocuments(), ...refusedSignatures() }).flatMap(([code, cases]) =>
    Object.entries(cases).map(([name, made]) => ({
      name,
      code: code as ListCase['code'],
      ...(Buffer.isBuffer(made) ? { document: made, signers: [signer.certificate] } : made),
    })),
  );
}

// How a case is made

const LISTED = {
  type: 'TSA/QTST',
  name: 'Time-stamps',
  status: 'granted',
  since: '2020-01-01T00:00:00Z',
  certificates: [ecSigner.certificate],
};
const PROVIDERS: ListOptions['providers'] & {} = [{ name: 'Provider', services: [LISTED] }];

const list = (options: ListOptions = {}, details: SigningDetails = {}): Buffer =>
  makeTrustedList({ providers: PROVIDERS, signed: { ...signer, ...details }, ...options });

type Change = NonNullable<ListOptions['beforeSigning']>;
/** A list with a valid signature of what the change made. */
const signedWith = (change: Change): Buffer => list({ beforeSigning: change });
const changedLater = (change: Change): Buffer => list({ afterSigning: change });
const signedInfo = (change: Change): Buffer => list({}, { signedInfo: change });

const signedBy = (by: ListSigner, details: SigningDetails = {}): Buffer => list({ signed: { ...by, ...details } });
const allowed = (by: ListSigner, details?: SigningDetails): Made => ({ document: signedBy(by, details), signers: [by.certificate] });

/** Replaces the first occurrence, and fails if there is none, so that no case loses its fault when the maker changes. */
function swap(before: string | RegExp, after: string): Change {
  return (xml) => {
    if (!(typeof before === 'string' ? xml.includes(before) : before.test(xml))) throw new Error(`The list has no ${before}.`);
    return xml.replace(before, () => after);
  };
}

const without = (name: string): Change => swap(new RegExp(`<${name}>[^]*?</${name}>`), '');
const before = (tag: string, addition: string): Change => swap(tag, addition + tag);
const doctype = (content: string): Change => before('<TrustServiceStatusList', `<!DOCTYPE TrustServiceStatusList${content}>`);

const SIGNATURE = /<ds:Signature .*<\/ds:Signature>/s;
const END = '</TrustServiceStatusList>';
const STATUS = 'Svcstatus/granted';
const extension = (content: string): string => `<SchemeExtensions><Extension Critical="false">${content}</Extension></SchemeExtensions>`;

/** Moves the signature to before `tag`. It stays valid, because the enveloped transform leaves it out everywhere. */
function signatureMovedTo(tag: string): Change {
  return (xml) => before(tag, SIGNATURE.exec(xml)![0])(xml.replace(SIGNATURE, ''));
}

/** The attack of McIntosh and Austel: a signed list is put into a list of the attacker, whose root gets the signature. */
function wrapped(rootId: string, place: (signature: string, signedList: string) => string): Buffer {
  const genuine = list({}, { documentUri: `#${ROOT_ID}` }).toString();
  const signature = SIGNATURE.exec(genuine)![0];
  const signedList = genuine
    .replace(SIGNATURE, '')
    .replace(/<\?xml.*?\?>\s*/, '')
    .trimEnd();
  const evil = makeTrustedList({ territory: 'XX', providers: PROVIDERS }).toString();
  return Buffer.from(before(END, place(signature, signedList))(swap(`Id="${ROOT_ID}"`, rootId)(evil)));
}

const inObject = (signature: string, signedList: string): string =>
  before('</ds:Signature>', `<ds:Object>${signedList}</ds:Object>`)(signature);

/** Uses the prefix `tsl` instead of the default namespace. */
const prefixed: Change = (xml) => xml.replace(/<(\/?)(\w+)(?=[\s/>])/g, '<$1tsl:$2').replace('xmlns=', 'xmlns:tsl=');

/** Adds comments, which the signature does not cover, until the document has this length. */
function filledUp(document: Buffer, octets: number): Buffer {
  const comment = `<!--${' '.repeat(1000)}-->`;
  const missing = octets - document.length;
  const comments = comment.repeat(Math.floor(missing / comment.length));
  return Buffer.concat([document, Buffer.from(comments.padEnd(missing))]);
}

// The cases, by what a reader must answer

type Cases = Partial<Record<ListCase['code'], Record<string, Made>>>;

function taken(): Cases {
  const rsa = (['rsa-sha256', 'rsa-sha384', 'rsa-sha512', 'rsa-pss-sha256', 'rsa-pss-sha384', 'rsa-pss-sha512'] as const).map(
    (algorithm) => [`signed with ${algorithm}`, allowed({ ...signer, algorithm })] as const,
  );
  const inclusion = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/hostname"/>';
  const extended = (content: string) => signedWith(before('</SchemeInformation>', extension(content)));
  const plain = list();
  return {
    taken: {
      ...Object.fromEntries(rsa),
      'signed with ecdsa-sha256 and P-256': allowed(ecSigner),
      'signed with ecdsa-sha384 and P-384': allowed(makeListSigner(keys['p-384'], SCHEMES.ecdsaSha384, 'ecdsa-sha384')),
      'signed with ecdsa-sha512 and P-521': allowed(makeListSigner(keys['p-521'], SCHEMES.ecdsaSha512, 'ecdsa-sha512')),
      'signed with ecdsa-sha256 and brainpoolP256r1': allowed(makeListSigner(keys.brainpoolP256r1, SCHEMES.ecdsaSha256, 'ecdsa-sha256')),
      'digests with SHA-384': list({}, { digest: 'sha384' }),
      'digests with SHA-512': list({}, { digest: 'sha512' }),
      'signed with the second of the allowed certificates': { document: plain, signers: [other.certificate, signer.certificate] },
      'certificate named by SHA-1, in version 1': list({}, { signingCertificate: signingCertificate(signer.certificate, 1) }),
      'signed properties without a transform': list({}, { plainProperties: true }),
      'reference to the id of the root': list({}, { documentUri: `#${ROOT_ID}` }),
      'list version 6': list({ version: 6 }),
      'no next update, because the scheme is closed': list({ nextUpdate: null }),
      'processing instruction before the root, signed with it': signedWith(before('<TrustServiceStatusList', '<?style none?>')),
      'comment before the root': changedLater(before('<TrustServiceStatusList', '<!-- a list -->')),
      'comment between elements': changedLater(before('<SchemeTerritory>', '<!-- the country -->')),
      'CDATA in a status': changedLater(swap(STATUS, '<![CDATA[Svcstatus]]>/granted')),
      'character reference in a status': changedLater(swap(STATUS, 'Svcstatus/&#103;ranted')),
      'white space around the values': signedWith((xml) => xml.replace(/>([\w:/.-]+)</g, '>\n\t $1 \n<')),
      'prefix tsl instead of the default namespace': signedWith(prefixed),
      'byte order mark of UTF-8': changedLater((xml) => `\ufeff${xml}`),
      'no XML declaration': changedLater(swap(/<\?xml.*?\?>\s*/, '')),
      'unknown extension': extended('<x:Any xmlns:x="urn:x" Id="x"><x:SchemeTerritory/></x:Any>'),
      'extension with an inclusion of another file, which stays as it is': extended(inclusion),
      'exactly 16 MiB': filledUp(plain, LIMIT_OCTETS),
    },
  };
}

function refusedDocuments(): Cases {
  const plain = list();
  const bombs = Array.from({ length: 12 }, (_, level) => `<!ENTITY e${level + 1} "${`&e${level};`.repeat(10)}">`).join('');
  const status = (content: string): Change => swap(STATUS, content);
  const withEntities = (entities: string, used: string) => changedLater((xml) => doctype(` [${entities}]`)(status(used)(xml)));
  const newer = [{ ...LISTED, since: '2021-01-01T00:00:00Z' }];
  const pivots = Array.from({ length: 33 }, (_, i) => `https://lists.example/pivot-${i}.xml`);
  return {
    list_too_large: {
      'one octet more than 16 MiB': filledUp(plain, LIMIT_OCTETS + 1),
      'more than a million tags': changedLater(before('<SchemeTerritory>', '<a/>'.repeat(1e6))),
      '50 MB': filledUp(plain, OCTETS_50_MB),
    },
    list_has_dtd: {
      'empty document type declaration': changedLater(doctype('')),
      'internal entity': withEntities('<!ENTITY state "granted">', 'Svcstatus/&state;'),
      'external entity with the address of a file': withEntities('<!ENTITY file SYSTEM "file:///etc/hostname">', '&file;'),
      'external document type definition': changedLater(doctype(' SYSTEM "http://127.0.0.1:9/list.dtd"')),
      'default attribute that is an id': changedLater(doctype(' [<!ATTLIST SchemeTerritory Id ID "properties">]')),
      'a billion laughs': withEntities(`<!ENTITY e0 "ha">${bombs}`, '&e12;'),
    },
    list_malformed: {
      'empty file': Buffer.alloc(0),
      'no XML': Buffer.from('{"list": true}'),
      'another document': Buffer.from('<html/>'),
      'truncated in the middle': plain.subarray(0, plain.length / 2),
      'truncated before the last character': plain.subarray(0, plain.lastIndexOf('>')),
      'two roots': Buffer.concat([plain, Buffer.from('<more/>')]),
      'root in another namespace': signedWith((xml) =>
        xml.replaceAll('TrustServiceStatusList', 'x:TrustServiceStatusList').replace('xmlns=', 'xmlns:x="urn:x" xmlns='),
      ),
      'root with another name': signedWith((xml) => xml.replaceAll('TrustServiceStatusList', 'StatusList')),
      'UTF-16': Buffer.from(`\ufeff${plain.toString().replace('UTF-8', 'UTF-16')}`, 'utf16le'),
      'ISO-8859-1': Buffer.from(signedWith(swap('"UTF-8"', '"ISO-8859-1"'))),
      'UTF-7 that hides a document type declaration': changedLater((xml) =>
        doctype('')(xml).replace('"UTF-8"', '"UTF-7"').replace('<!DOCTYPE', '+ADwAIQ-DOCTYPE'),
      ),
      'octets that are not UTF-8': Buffer.from(plain.toString().replace('Time-stamps', 'Zeitstempel f\xfcr alle'), 'latin1'),
      '100 000 elements inside each other': changedLater(before('<SchemeTerritory>', '<a>'.repeat(1e5) + '</a>'.repeat(1e5))),
      'list version 4': list({ version: 4 }),
      'list version 7': list({ version: 7 }),
      'no sequence number': signedWith(without('TSLSequenceNumber')),
      'sequence number with letters': list({ sequenceNumber: '12x' }),
      'negative sequence number': list({ sequenceNumber: -1 }),
      'sequence number too large to be exact': list({ sequenceNumber: '99007199254740993' }),
      'no territory': signedWith(without('SchemeTerritory')),
      'territory that is not a code of two letters': list({ territory: 'Utopia' }),
      'no date of issue': signedWith(without('ListIssueDateTime')),
      'date of issue that is no date': list({ issuedAt: 'yesterday' }),
      'date of issue that does not exist': list({ issuedAt: '2026-02-30T00:00:00Z' }),
      'no element for the next update': signedWith(without('NextUpdate')),
      'next update that is no date inside its element': signedWith(swap(/<dateTime>(.*)<\/dateTime>/, '2020-01-01T00:00:00Z')),
      'two sequence numbers': signedWith(before('<TSLSequenceNumber>', '<TSLSequenceNumber>9</TSLSequenceNumber>')),
      'two scheme informations': signedWith(before('<SchemeInformation>', '<SchemeInformation/>')),
      'two statuses': signedWith(before('<ServiceStatus>', '<ServiceStatus>withdrawn</ServiceStatus>')),
      'element inside a status': signedWith(status('Svcstatus/<b>gran</b>ted')),
      'history that is newer than the status': list({ providers: [{ name: 'Provider', services: [{ ...LISTED, history: newer }] }] }),
      'more than 32 pivots': list({ kind: 'list_of_lists', territory: 'EU', pivots }),
    },
    list_comment_in_value: {
      'comment in a status': changedLater(status('Svcstatus/gran<!-- not -->ted')),
      'comment in the sequence number': changedLater(swap('SequenceNumber>1<', 'SequenceNumber>1<!---->0<')),
      'comment in a certificate': changedLater(swap('<X509Certificate>MII', '<X509Certificate>MII<!---->')),
      'processing instruction in a status': signedWith(status('Svcstatus/gran<?not?>ted')),
    },
  };
}

function refusedSignatures(): Cases {
  const weak = makeListSigner(rsaKey('rsa-1024'), SCHEMES.rsaSha256, 'rsa-sha256');
  const bitcoin = makeListSigner(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }), SCHEMES.ecdsaSha256, 'ecdsa-sha256');
  const transform = (uri: string, content = ''): string => `<ds:Transform Algorithm="${uri}">${content}</ds:Transform>`;
  const enveloped = `<ds:Transform Algorithm="${NAMESPACE.ds}enveloped-signature"/>`;
  const exclusive = `<ds:Transform Algorithm="${EXCLUSIVE}"/>`;
  const added = (uri: string, content?: string): Buffer => signedInfo(swap(enveloped, enveloped + transform(uri, content)));
  const W3 = 'http://www.w3.org';
  const inclusive = `${W3}/TR/2001/REC-xml-c14n-20010315`;
  const filter = `${W3}/2002/06/xmldsig-filter2`;
  const canonicalized = (content: string) => `<ds:CanonicalizationMethod Algorithm="${EXCLUSIVE}">${content}</ds:CanonicalizationMethod>`;
  const ofProperties = (transforms: string) =>
    signedInfo(swap(`<ds:Transforms>${exclusive}</ds:Transforms>`, `<ds:Transforms>${transforms}</ds:Transforms>`));
  const prefixes = `<ec:InclusiveNamespaces xmlns:ec="${EXCLUSIVE}" PrefixList="ns3"/>`;
  const decoy = `<xades:QualifyingProperties xmlns:xades="${NAMESPACE.xades}"><xades:SignedProperties Id="decoy"/></xades:QualifyingProperties>`;
  const method = (uri: string): Change => swap(methodUri('rsa-sha256'), uri);
  const reference = (uri: string): string =>
    `<ds:Reference URI="${uri}"><ds:DigestMethod Algorithm="${DIGEST_URI.sha256}"/><ds:DigestValue>AAAA</ds:DigestValue></ds:Reference>`;
  const signatureValueOf = (document: Buffer): string => /<ds:SignatureValue>.*?<\/ds:SignatureValue>/.exec(document.toString())![0];
  return {
    list_unsigned: {
      'no signature': makeTrustedList({ providers: PROVIDERS }),
      'signature in a comment': changedLater((xml) => swap(SIGNATURE, `<!--${SIGNATURE.exec(xml)![0]}-->`)(xml)),
      'signature in another namespace': changedLater(swap(`xmlns:ds="${NAMESPACE.ds}"`, 'xmlns:ds="urn:x"')),
    },
    list_several_signatures: {
      'the signature twice': changedLater((xml) => before(END, SIGNATURE.exec(xml)![0])(xml)),
      'a second signature in an extension': changedLater((xml) =>
        before('</SchemeInformation>', extension(SIGNATURE.exec(xml)![0].replaceAll(/Id="\w+"/g, '')))(xml),
      ),
    },
    list_signature_wrapped: {
      'signature in the scheme information': changedLater(signatureMovedTo('</SchemeInformation>')),
      'signature in a service': changedLater(signatureMovedTo('</TSPService>')),
      'signed list under the root of another list': wrapped('', (signature, signedList) => signature + signedList),
      'signed list with its signature under the root of another list': wrapped('', (signature, signedList) =>
        before(END, signature)(signedList),
      ),
      'signed copy in the signature, list without an id': wrapped('', inObject),
      'signed copy in the signature, list with another id': wrapped('Id="Evil"', inObject),
      'signed copy in the signature, list with the same id': wrapped(`Id="${ROOT_ID}"`, inObject),
      ...Object.fromEntries(
        ['Id', 'ID', 'id', 'xml:id'].map((name) => [
          `the id of the root a second time, as ${name}`,
          list({ beforeSigning: swap('<SchemeTerritory>', `<SchemeTerritory ${name}="${ROOT_ID}">`) }, { documentUri: `#${ROOT_ID}` }),
        ]),
      ),
      'the id of the signed properties a second time': signedWith(swap('<SchemeTerritory>', '<SchemeTerritory Id="properties">')),
      'reference to a part of the list': list(
        { beforeSigning: swap('<SchemeInformation>', '<SchemeInformation Id="part">') },
        { signedInfo: swap('URI=""', 'URI="#part"') },
      ),
      'reference to signed properties outside the signature': list(
        { beforeSigning: before('</SchemeInformation>', extension(decoy)) },
        { signedInfo: swap('URI="#properties"', 'URI="#decoy"') },
      ),
      'reference to another file': signedInfo(swap('URI=""', 'URI="https://lists.example/other.xml"')),
    },
    list_signature_unsupported: {
      'XPath transform': added(`${W3}/TR/1999/REC-xpath-19991116`, '<ds:XPath>not(ancestor-or-self::ds:Signature)</ds:XPath>'),
      'XPath filter 2 transform': added(filter, `<f:XPath xmlns:f="${filter}" Filter="subtract">/descendant::ds:Signature</f:XPath>`),
      'XSLT transform': added(`${W3}/TR/1999/REC-xslt-19991116`, `<x:stylesheet xmlns:x="${W3}/1999/XSL/Transform" version="1.0"/>`),
      'base64 transform': added(`${NAMESPACE.ds}base64`),
      'canonicalization before the enveloped transform': signedInfo(swap(enveloped + exclusive, exclusive + enveloped)),
      'enveloped transform alone': signedInfo(swap(enveloped + exclusive, enveloped)),
      'no enveloped transform': signedInfo(swap(enveloped + exclusive, exclusive)),
      'inclusive canonicalization of the list': signedInfo(swap(exclusive, transform(inclusive))),
      'canonicalization of the list with comments': signedInfo(swap(exclusive, transform(`${EXCLUSIVE}WithComments`))),
      'InclusiveNamespaces for the list': signedInfo(swap(exclusive, transform(EXCLUSIVE, prefixes))),
      'InclusiveNamespaces for the SignedInfo': signedInfo(swap(/<ds:CanonicalizationMethod.*?\/>/, canonicalized(prefixes))),
      'inclusive canonicalization of the SignedInfo': signedInfo(
        swap(`Method Algorithm="${EXCLUSIVE}"`, `Method Algorithm="${inclusive}"`),
      ),
      'third reference': signedInfo(before('</ds:SignedInfo>', reference('#properties'))),
      'no reference to the signed properties': signedInfo(swap(/<ds:Reference Type=.*<\/ds:Reference>/, '')),
      'reference to the signed properties without its type': signedInfo(swap(/Type="\S+SignedProperties" /, '')),
      'second signed properties in the signature': changedLater(before('<ds:Object>', `<ds:Object>${decoy}</ds:Object>`)),
      'second signature value': changedLater(before('<ds:KeyInfo>', '<ds:SignatureValue>AAAA</ds:SignatureValue>')),
      'inclusive canonicalization of the signed properties, by name': ofProperties(transform(inclusive)),
      'no certificate named in the signed properties': list({}, { signingCertificate: '' }),
      'digests with SHA-1': list({}, { digest: 'sha1' }),
      'signed with rsa-sha1': allowed({ ...signer, algorithm: 'rsa-sha1' }),
      'RSA with 1024 bits': allowed(weak),
      'ECDSA with the curve secp256k1': allowed(bitcoin),
      'RSA signature that claims to be ECDSA': signedInfo(method(methodUri('ecdsa-sha256'))),
      'HMAC with the certificate as its key': list(
        {},
        {
          signedInfo: method('http://www.w3.org/2001/04/xmldsig-more#hmac-sha256'),
          value: (data) => createHmac('sha256', signer.certificate).update(data).digest(),
        },
      ),
      'unknown signature method': signedInfo(method('urn:x')),
      'one transform with two names': signedInfo(swap(enveloped + exclusive, transform(`${NAMESPACE.ds}enveloped-signature ${EXCLUSIVE}`))),
      'transform without a name': ofProperties('<ds:Transform/>'),
      'unknown element in the SignedInfo': signedInfo(before('</ds:SignedInfo>', '<x:Any xmlns:x="urn:x"/>')),
    },
    list_wrong_signer: {
      'another signer': signedBy(other),
      'another key with the same subject': signedBy(namesake),
      'another signer, with the right certificate in the KeyInfo': signedBy(other, { keyInfoCertificate: signer.certificate }),
      'certificate digest of another certificate': list({}, { signingCertificate: signingCertificate(other.certificate) }),
      'no allowed certificate': { document: list(), signers: [] },
    },
    list_altered: {
      'altered status': changedLater(swap(STATUS, 'Svcstatus/withdrawn')),
      'altered territory': changedLater(swap('<SchemeTerritory>SE', '<SchemeTerritory>XX')),
      'altered white space': changedLater(before('<SchemeTerritory>', ' ')),
      'altered status, with the digest corrected': changedLater((xml) => {
        const forged = list({ providers: PROVIDERS, beforeSigning: swap(STATUS, 'Svcstatus/withdrawn') });
        return swap(signatureValueOf(forged), signatureValueOf(Buffer.from(xml)))(forged.toString());
      }),
      'altered signed properties': changedLater(swap('<xades:SigningTime>2026', '<xades:SigningTime>2025')),
      'altered SignedInfo': changedLater(swap('Reference Id="list-reference"', 'Reference Id="another"')),
      'processing instruction added before the root': changedLater(before('<TrustServiceStatusList', '<?style none?>')),
      'signature of another key that names the right certificate': signedBy({ ...other, certificate: signer.certificate }),
      'ECDSA signature value in DER': allowed(ecSigner, { value: (data) => sign('sha256', data, ecSigner.key) }),
    },
  };
}
