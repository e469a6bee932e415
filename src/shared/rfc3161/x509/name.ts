import { contentsOf, type Der, derOf, parseDer, TAG } from '../asn1/der.ts';
import { oidOf } from '../asn1/der-values.ts';

/** This module compares distinguished names (RFC 5280 §4.1.2.4) and formats them for people. */

/**
 * Returns true if two DER Names are the same name (RFC 5280 §7.1). The string type and the case may differ, because a CA may change them when it renews
 * its certificate. Use this only for signed names; compare the octets of other names.
 */
export function isSameName(a: Buffer, b: Buffer): boolean {
  return a.equals(b) || comparable(a) === comparable(b);
}

/** Returns true if subject and issuer of a certificate are the same, as in roots and in CAs with a new key (RFC 5280 §3.2). */
export const isSelfIssued = ({ subject, issuer }: { readonly subject: Buffer; readonly issuer: Buffer }): boolean =>
  isSameName(subject, issuer);

/** Returns true if `name` is `subtree` or below it (RFC 5280 §7.1). */
export function isNameWithin(name: Buffer, subtree: Buffer): boolean {
  const [own, above] = [relativeNamesOf(name), relativeNamesOf(subtree)];
  return above.every((one, i) => one === own[i]);
}

/** Returns the values of all attributes of a type in a DER Name. */
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

/** Returns a text for each RelativeDistinguishedName. Equal names have equal texts. */
const relativeNamesOf = (name: Buffer): readonly string[] =>
  parseDer(name).children.map((set) => JSON.stringify(set.children.map(comparableAttribute).sort()));

/** Longer values are compared by their octets, because normalizing a text can take quadratic time. No CA has such a long name. */
const MAX_COMPARABLE_OCTETS = 512;

/** Returns a text that is the same for equal attributes. UTF8String and PrintableString are compared regardless of type, case and white space. */
function comparableAttribute(attribute: Der): string {
  const [type, value] = attribute.children;
  const isText = value?.tag === TAG.utf8String || value?.tag === TAG.printableString;
  if (type === undefined || !isText || value.end - value.content > MAX_COMPARABLE_OCTETS) return derOf(attribute).toString('hex');
  const text = contentsOf(value).toString('utf8').normalize('NFKC').trim().replace(/\s+/g, ' ').toLowerCase();
  return `${derOf(type).toString('hex')} ${text}`;
}

/** The short names of attributes in RFC 4514 §3, and of others that are common in certificates of TSAs. */
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

/** Formats a DER Name as text (RFC 4514), most specific part first. Do not compare these texts: different names may have the same text. */
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

/** Escapes a value (RFC 4514 §2.4). Also escapes control characters, because the text goes to logs and terminals. */
function escaped(text: string): string {
  return text
    .replace(/[\\",;<>+=]/g, '\\$&')
    .replace(/^[ #]| $/g, '\\$&')
    .replace(/\p{C}/gu, (character) =>
      [...Buffer.from(character, 'utf8')].map((octet) => `\\${octet.toString(16).padStart(2, '0')}`).join(''),
    );
}
