/** Why our reader and DSS judge a list differently, and the lists that this explains. A difference that a fault of our reader causes does not belong here. */
const reasons: readonly (readonly [reason: string, ...names: readonly string[]])[] = [
  ['Norway signed with an RSA key of 2032 bits, and we require 2048.', '2023/https___tl_norway_no_TSL_NO_TSL_XML', '2019/NO.xml'],
  ['It was signed in 2017 with an RSA key of 1024 bits, too short for us.', '2019/tl_pivot_172_mp.xml'],
  ['The key is too short for us.', 'made/RSA with 1024 bits'],
  ['We accept the curves of NIST and Brainpool only. DSS looks at the length of the key only.', 'made/ECDSA with the curve secp256k1'],
  ['We refuse versions other than 5 and 6.', 'assorted/de-tl.xml', 'assorted/peru-lotl.xml', 'made/list version 4', 'made/list version 7'],
  ['It is no list of the EU: its territory and its type are others.', 'assorted/mra-zz-tl.xml'],
  ['We read UTF-8 only. DSS reads every encoding that Java knows.', 'made/UTF-16', 'made/ISO-8859-1'],
  [
    'DSS only reports a list that breaks its schema.',
    ...[
      'negative sequence number',
      'next update that is no date inside its element',
      'two sequence numbers',
      'two scheme informations',
      'two statuses',
      'element inside a status',
      'history that is newer than the status',
      'more than 32 pivots',
      'territory that is not a code of two letters',
      'no element for the next update',
    ].map((name) => `made/${name}`),
  ],
  ['DSS cuts the number to 32 bits, which makes it negative.', 'made/sequence number too large to be exact'],
  [
    'A signature does not cover comments, so a comment can be put into a signed value, and some programs then read only a part of the value.',
    'made/comment in a status',
    'made/comment in a certificate',
  ],
  ['We refuse values in pieces, which DSS joins.', 'made/processing instruction in a status'],
  [
    'The enveloped transform leaves out the signature wherever it stands, so its value is right. We expect it at the root.',
    'made/signature in the scheme information',
    'made/signature in a service',
  ],
  ['A filter lets a signature cover less than the list. DSS applies these two.', 'made/XPath transform', 'made/XPath filter 2 transform'],
  ['We accept one canonicalization of the list, and this is another one.', 'made/canonicalization of the list with comments'],
  ['We refuse what the standard does not name in a SignedInfo.', 'made/unknown element in the SignedInfo'],
  ['We refuse to choose between two signed properties.', 'made/second signed properties in the signature'],
];

/** The same for time-stamps: why we and DSS do not both find them qualified. */
const reasonsForTokens: typeof reasons = [
  [
    'DSS also wants the service to be granted when the token is first proved to exist, which is now. We report that beside the verdict.',
    'withdrawn after the time-stamp',
    '2023: tsa.izenpe.com, 2020-02-13, 0dbf',
  ],
  ['For us a period ends where the next one starts. DSS counts this instant for both.', 'withdrawn at the very time, and granted again'],
  ['We count no service that was accredited before 1 July 2016, when qualified time-stamps began.', 'before 1 July 2016, accredited'],
  [
    'The list had expired before the time in the token, so it cannot say that the service was still granted. The policy of DSS only warns.',
    'list expired before the time-stamp',
    '2023: Sectigo Qualified Time Stamping Signer #3, 2025-07-15, 82f2',
    '2023: SK TIMESTAMPING UNIT 2024E, 2024-09-13, 1a17',
    '2023: SK TIMESTAMPING UNIT 2024E, 2024-09-13, 9d51',
    '2023: SK TIMESTAMPING UNIT 2024E, 2024-10-25, 0e0a',
  ],
];

/** What we and DSS say about a list or a time-stamp. */
export interface Compared {
  readonly name: string;
  readonly ours: string;
  readonly dss: string;
  readonly isDifferent: boolean;
  /** What ours must begin with, for what was made here. */
  readonly expected?: string | undefined;
}

/** The rows of a table, and what is wrong: a verdict of ours, or a difference that is not explained, or explained in vain. `absent`: what nobody could judge. */
export function compare(kind: 'lists' | 'tokens', compared: readonly Compared[], absent: readonly string[] = []) {
  const all = kind === 'lists' ? reasons : reasonsForTokens;
  const reasonOf = (wanted: string) => all.find(([, ...names]) => names.includes(wanted))?.[0];
  const different = compared.filter(({ isDifferent }) => isDifferent);
  const row = ({ name, ours, dss }: Compared) => `${name.slice(-60).padEnd(62)}${ours.padEnd(42)}${dss.slice(0, 70)}`;
  return {
    rows: [
      ...compared.flatMap((one) => [row(one), ...(one.isDifferent ? [`    differs: ${reasonOf(one.name) ?? 'NOT EXPLAINED'}`] : [])]),
      ...absent.map((name) => `${name} is not in the local copy of the repository`),
      `${compared.length} ${kind}, of which ${different.length} are judged differently`,
    ],
    faults: [
      ...compared
        .filter(({ ours, expected }) => ours.startsWith('crashed') || (expected !== undefined && !ours.startsWith(expected)))
        .map(({ name, ours, expected }) => `FAILED ${name}: we must say ${expected}, not ${ours}`),
      ...compared.filter(({ dss }) => dss.startsWith('failed')).map(({ name, dss }) => `FAILED ${name}: no verdict of DSS: ${dss}`),
      ...different
        .filter(({ name }) => reasonOf(name) === undefined)
        .map(({ name }) => `FAILED ${name}: nobody has explained the difference`),
      ...all
        .flatMap(([, ...names]) => names)
        .filter((name) => !absent.includes(name) && !different.some((one) => one.name === name))
        .map((name) => `FAILED ${name}: both agree, or it does not exist, so the explanation is not needed`),
    ],
  };
}
