import { contentsOf, type Der, derOf, parseDer } from '../asn1/der.ts';
import { oidOf } from '../asn1/der-values.ts';
import { TAG } from '../asn1/tags.ts';

/** Distinguished names (RFC 5280 §4.1.2.4): compared, and as text for people. */

/**
 * Whether two DER Names are the same (RFC 5280 §7.1): a CA that renews its certificate may write its name in another string type or case.
 * For names under a signature only; elsewhere octets are compared.
 */
export function isSameName(a: Buffer, b: Buffer): boolean {
  return a.equals(b) || comparable(a) === comparable(b);
}

/** Whether a certificate bears one name twice, as roots and re-keyed CAs do (RFC 5280 §3.2). */
export const isSelfIssued = ({ subject, issuer }: { readonly subject: Buffer; readonly issuer: Buffer }): boolean =>
  isSameName(subject, issuer);

/** Whether `name` is `subtree` or lies below it (RFC 5280 §7.1). */
export function isNameWithin(name: Buffer, subtree: Buffer): boolean {
  const [own, above] = [relativeNamesOf(name), relativeNamesOf(subtree)];
  return above.every((one, i) => one === own[i]);
}

/** The values of the attributes of a type in a DER Name. */
export function attributesOfName(name: Buffer, type: string): readonly Der[] {
  const attributes = parseDer(name).children.flatMap((set) => set.children);
  return attributes.flatMap(({ children: [oid, value] }) =>
    oid !== undefined && value !== undefined && oidOf(oid, 'an attribute of a name') === type ? [value] : [],
  );
}

const comparables = new WeakMap<Buffer, string>();

function comparable(name: Buffer): string {
  let text = comparables.get(name);
  if (text === undefined) {
    text = JSON.stringify(relativeNamesOf(name));
    comparables.set(name, text);
  }
  return text;
}

/** Text for each RelativeDistinguishedName, the same for those that are. */
const relativeNamesOf = (name: Buffer): readonly string[] =>
  parseDer(name).children.map((set) => JSON.stringify(set.children.map(comparableAttribute).sort()));

/** Far more than any name of a CA has. To bring a text into its normal form can take time that grows with the square of its length. */
const MAX_COMPARABLE_OCTETS = 512;

/** UTF8String and PrintableString without regard to type, case and blanks; anything else, and what is very long, as it is. */
function comparableAttribute(attribute: Der): string {
  const [type, value] = attribute.children;
  const isText = value?.tag === TAG.utf8String || value?.tag === TAG.printableString;
  if (type === undefined || !isText || value.end - value.content > MAX_COMPARABLE_OCTETS) return derOf(attribute).toString('hex');
  const text = contentsOf(value).toString('utf8').normalize('NFKC').trim().replace(/\s+/g, ' ').toLowerCase();
  return `${derOf(type).toString('hex')} ${text}`;
}

/** RFC 4514 §3, and what else is common in certificates of TSAs. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.5': 'serialNumber',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '2.5.4.97': 'organizationIdentifier',
  '0.9.2342.19200300.100.1.25': 'DC',
};

/** RFC 4514 text of a DER Name, most specific first. Never compare by it: different names may read the same. */
export function nameText(der: Uint8Array): string {
  const names = parseDer(der).children.map((set) => set.children.map(attributeText).join('+'));
  return names.reverse().join(',');
}

function attributeText(attribute: Der): string {
  const [type, value] = attribute.children;
  if (type === undefined || value === undefined) return '';
  const oid = oidOf(type, 'an attribute of a name');
  return `${SHORT_NAMES[oid] ?? oid}=${escaped(stringOf(value))}`;
}

function stringOf(value: Der): string {
  const contents = contentsOf(value);
  if (value.tag !== TAG.bmpString) return contents.toString(value.tag === TAG.utf8String ? 'utf8' : 'latin1');
  return Buffer.from(contents).swap16().toString('utf16le');
}

/** RFC 4514 §2.4; control characters too, as the text goes to logs and terminals. */
function escaped(text: string): string {
  return text
    .replace(/[\\",;<>+=]/g, '\\$&')
    .replace(/^[ #]| $/g, '\\$&')
    .replace(/\p{C}/gu, (character) =>
      [...Buffer.from(character, 'utf8')].map((octet) => `\\${octet.toString(16).padStart(2, '0')}`).join(''),
    );
}
