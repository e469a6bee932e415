import { derOf, parseDer } from '../../src/shared/rfc3161/asn1/der.ts';
import { contextConstructed, objectIdentifier, octetString, sequence, utf8String } from '../../src/shared/rfc3161/asn1/der-writer.ts';
import { type Bundle, withSums } from './bundle-lab.ts';

type Forge = (good: Bundle) => Bundle;

/** A bundle that was made to have the programs that check it do something else, and what `verify.sh` says of it. */
type Forgery = readonly [what: string, says: RegExp, forge: Forge];

const anchorsFile = 'certificates/anchors.pem';

/** `rogue`: PEM of a certificate that the list of trusted ones must not lose sight of. */
const anchors =
  (edit: (pem: string, rogue: string) => string): Forge =>
  (good) => {
    const [rogue = ''] =
      /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----\n/.exec(String(good.get('certificates/others.pem'))) ?? [];
    if (rogue === '') throw new Error('there is no other certificate');
    return withSums(new Map(good).set(anchorsFile, Buffer.from(edit(String(good.get(anchorsFile)), rogue), 'latin1')));
  };

const named = (pem: string, name: string) => pem.replaceAll(' CERTIFICATE-----', ` ${name}-----`);
const openssl =
  (text: string): Forge =>
  (good) =>
    withSums(new Map(good).set('openssl.cnf', Buffer.from(text)));

const noPlainForm = /anchors.pem holds a block that is no certificate in plain form/;
const noEnd = /anchors.pem (is no text whose every line has an end|ends within a certificate)/;
const otherSettings = /openssl.cnf is not the one that belongs to a bundle/;
const engine = 'openssl_conf = a\n[a]\nengines = b\n[b]\nc = d\n[d]\ndynamic_path = ./evil.so\ninit = 1\n';

/** Nothing in a bundle but its script has a say in whom its reader trusts, or in what openssl loads. */
export const forgeries: readonly Forgery[] = [
  ['an anchor is an X509 CERTIFICATE', noPlainForm, anchors((pem, rogue) => pem + named(rogue, 'X509 CERTIFICATE'))],
  ['an anchor is a TRUSTED CERTIFICATE', noPlainForm, anchors((pem, rogue) => named(rogue, 'TRUSTED CERTIFICATE') + pem)],
  ['an anchor begins late in a long comment', noPlainForm, anchors((pem, rogue) => `${pem}#${'-'.repeat(253)}${rogue}`)],
  ['the last line of the anchors has no end', noEnd, anchors((pem, rogue) => pem + rogue.slice(0, -1))],
  ['the anchors have lines that end as in DOS', /anchors.pem holds /, anchors((pem, rogue) => pem + rogue.replaceAll('\n', '\r\n'))],
  ['the anchors hold a zero octet', /anchors.pem is no text/, anchors((pem, rogue) => pem + rogue.replace('-----BEGIN', '--\0---BEGIN'))],
  ['the anchors hold something else', /holds more than certificates and comments/, anchors((pem) => `${pem}Trust me.\n`)],
  ['openssl.cnf names a library', otherSettings, openssl(engine)],
  ['openssl.cnf has a line more', otherSettings, (good) => openssl(`${good.get('openssl.cnf')}\n`)(good)],
];

/** Run by bash where it takes this for a number: 15 digits at a time are compared. */
const command = '0,a[$(>hacked)]';

/** Lines as asn1parse would print them of a hash tree, over this hash and a command. */
const treeText = (digest: string): string =>
  [
    '',
    '   20:d=4  hl=2 l= 104 cons: cont [ 2 ]',
    '   22:d=5  hl=2 l= 102 cons: SEQUENCE',
    ...[digest.toUpperCase(), command.padEnd(64, '0')].map((hash) => `   24:d=6  hl=2 l=  32 prim: OCTET STRING      [HEX DUMP]:${hash}`),
    '',
  ].join('\n');

/** The members of an evidence record: version, algorithms, chains. */
const membersOf = (record: Buffer): Buffer[] => parseDer(record).children!.map(derOf);

/** An evidence record whose algorithms have a parameter that prints as a hash tree over this hash; the rest as it was. */
export function forgedAlgorithms(record: Buffer, digest: string): Buffer {
  const [version, , chains] = membersOf(record);
  return sequence(version!, sequence(sequence(objectIdentifier('2.16.840.1.101.3.4.2.1'), utf8String(treeText(digest)))), chains!);
}

/** An evidence record whose tree has an OCTET STRING that prints as text with a hash in it. */
export function forgedTree(record: Buffer, digest: string): Buffer {
  const [version, algorithms] = membersOf(record);
  const token = derOf(parseDer(record).children![2]!.children![0]!.children![0]!.children!.at(-1)!);
  const tree = contextConstructed(2, sequence(octetString(Buffer.from(treeText(digest)))));
  return sequence(version!, algorithms!, sequence(sequence(sequence(tree, token))));
}
