/** One reason, and the files that it explains. A difference that a fault of our reader causes does not belong here. */
const reasons: readonly (readonly [reason: string, ...files: readonly string[]])[] = [
  // Published lists
  ['It is signed with ECDSA, which xml-crypto does not know.', '2023/https___www_eett_gr_tsl_EL_TSL_xml'],
  [
    'Norway signed with an RSA key of 2032 bits, and we require 2048. The policy of DSS for lists accepts it, and xml-crypto has no limit.',
    '2023/https___tl_norway_no_TSL_NO_TSL_XML',
    '2019/NO.xml',
  ],
  [
    'It was signed in 2017 with an RSA key of 1024 bits, too short for us. The policy of DSS for lists accepts it, and xml-crypto has no limit.',
    '2019/tl_pivot_172_mp.xml',
  ],
  [
    'We refuse versions other than 5 and 6. DSS only reports the version, and xml-crypto does not read lists.',
    'assorted/de-tl.xml',
    'assorted/peru-lotl.xml',
    'made/list version 4',
    'made/list version 7',
  ],
  [
    'It is no list of the EU. We refuse its inclusive canonicalization and DSS refuses its SHA-1 digest; xml-crypto accepts both.',
    'assorted/tsl-pe.xml',
  ],
  ['It is no list of the EU: its territory and its type are others. DSS and xml-crypto accept its signature.', 'assorted/mra-zz-tl.xml'],

  // Lists that we take
  [
    'xml-crypto knows no SHA-384, no PSS with SHA-512, and no ECDSA.',
    'made/signed with rsa-sha384',
    'made/signed with rsa-pss-sha384',
    'made/signed with rsa-pss-sha512',
    'made/signed with ecdsa-sha256 and P-256',
    'made/signed with ecdsa-sha384 and P-384',
    'made/signed with ecdsa-sha512 and P-521',
    'made/signed with ecdsa-sha256 and brainpoolP256r1',
    'made/digests with SHA-384',
  ],
  [
    'An empty address means the whole document. xml-crypto leaves out what stands before the root.',
    'made/processing instruction before the root, signed with it',
    'made/processing instruction added before the root',
  ],

  // Lists that we refuse, and xml-crypto takes because it knows neither trusted lists nor XAdES
  [
    'xml-crypto lets its parser read document type declarations.',
    'made/empty document type declaration',
    'made/external document type definition',
    'made/default attribute that is an id',
  ],
  [
    'xml-crypto does not read what is in a list.',
    'made/root in another namespace',
    'made/root with another name',
    'made/no sequence number',
    'made/sequence number with letters',
    'made/no territory',
    'made/no date of issue',
    'made/date of issue that is no date',
    'made/date of issue that does not exist',
  ],
  [
    'xml-crypto is given text, so the encoding that the list declares means nothing to it.',
    'made/UTF-7 that hides a document type declaration',
  ],
  [
    'xml-crypto finds a signed list in the file. It leaves it to its caller to read only that one and not the one around it.',
    'made/signed list under the root of another list',
    'made/signed list with its signature under the root of another list',
    'made/signed copy in the signature, list without an id',
    'made/signed copy in the signature, list with another id',
  ],
  [
    'XAdES requires signed properties that name the signer, and xml-crypto does not know XAdES.',
    'made/reference to signed properties outside the signature',
    'made/no reference to the signed properties',
    'made/reference to the signed properties without its type',
    'made/no certificate named in the signed properties',
    'made/certificate digest of another certificate',
  ],
  [
    'xml-crypto works on nodes and not on octets, so it accepts an order of transforms that leaves nothing to take the signature from.',
    'made/canonicalization before the enveloped transform',
  ],
  ['xml-crypto uses one of two signature values. We and DSS do not choose.', 'made/second signature value'],
  ['xml-crypto accepts SHA-1.', 'made/digests with SHA-1', 'made/signed with rsa-sha1'],

  // Lists that we refuse, and DSS takes
  ['We read UTF-8 only. DSS reads every encoding that Java knows; xml-crypto is given text.', 'made/UTF-16', 'made/ISO-8859-1'],
  [
    'DSS only reports a list that breaks its schema, and xml-crypto does not read lists.',
    'made/negative sequence number',
    'made/next update that is no date inside its element',
    'made/two sequence numbers',
    'made/two scheme informations',
    'made/two statuses',
    'made/element inside a status',
    'made/history that is newer than the status',
    'made/more than 32 pivots',
    'made/territory that is not a code of two letters',
    'made/no element for the next update',
  ],
  [
    'DSS cuts the number to 32 bits, which makes it negative. xml-crypto does not read lists.',
    'made/sequence number too large to be exact',
  ],
  [
    'A signature does not cover comments, so a comment can be put into a signed value, and some programs then read only a part of the value. We refuse that.',
    'made/comment in a status',
    'made/comment in a certificate',
  ],
  [
    'We refuse values in pieces. DSS joins the pieces; xml-crypto cannot canonicalize a processing instruction.',
    'made/processing instruction in a status',
  ],
  [
    'The enveloped transform leaves out the signature wherever it stands, so its value is right. We expect it at the root.',
    'made/signature in the scheme information',
    'made/signature in a service',
  ],
  [
    'A filter lets a signature cover less than the list. We refuse all filters; DSS applies these two, and xml-crypto does not know them.',
    'made/XPath transform',
    'made/XPath filter 2 transform',
  ],
  [
    'We accept one canonicalization of the list, and this is another one. DSS and xml-crypto know it.',
    'made/canonicalization of the list with comments',
  ],
  ['We refuse what the standard does not name in a SignedInfo. DSS and xml-crypto ignore it.', 'made/unknown element in the SignedInfo'],
  ['We refuse to choose between two signed properties. Only one of them is signed.', 'made/second signed properties in the signature'],
  ['The key is too short for us. The policy of DSS for lists accepts 1024 bits, and xml-crypto has no limit.', 'made/RSA with 1024 bits'],
  [
    'We accept the curves of NIST and Brainpool only. DSS looks at the length of the key only, and xml-crypto knows no ECDSA.',
    'made/ECDSA with the curve secp256k1',
  ],
];

/** The same for time-stamps: why we and DSS do not both find them qualified. */
const reasonsForTokens: typeof reasons = [
  [
    'The service was granted at the time in the token, and is withdrawn now. DSS also wants it to be granted when the token is first proved to exist, which is now. We report that beside the verdict.',
    'withdrawn after the time-stamp',
    '2023: tsa.izenpe.com, 2020-02-13, 0dbf',
  ],
  ['For us a period ends where the next one starts. DSS counts this instant for both.', 'withdrawn at the very time, and granted again'],
  [
    'There have been qualified time-stamps since 1 July 2016 only. DSS also counts a service that was accredited before.',
    'before 1 July 2016, accredited',
  ],
  [
    'The list had expired before the time in the token, so it cannot say that the service was still granted. The policy of DSS only warns.',
    'list expired before the time-stamp',
    '2023: Sectigo Qualified Time Stamping Signer #3, 2025-07-15, 82f2',
    '2023: SK TIMESTAMPING UNIT 2024E, 2024-09-13, 1a17',
    '2023: SK TIMESTAMPING UNIT 2024E, 2024-09-13, 9d51',
    '2023: SK TIMESTAMPING UNIT 2024E, 2024-10-25, 0e0a',
  ],
];

const byName = (all: typeof reasons): Readonly<Record<string, string>> =>
  Object.fromEntries(all.flatMap(([reason, ...names]) => names.map((name) => [name, reason])));

/** Why our reader and the strangers judge a file differently, by the name of the file. */
export const explained = byName(reasons);
/** Why our judge and DSS judge a time-stamp differently, by its name in the table. */
export const explainedTokens = byName(reasonsForTokens);
