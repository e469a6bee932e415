import { refuse } from '../refusal/refusal.ts';
import { contentsOf, type Der, derOf, isMinimalInteger, TAG } from './der.ts';
import { objectIdentifier } from './der-writer.ts';
import { OID } from './oids.ts';

/** This module reads the values of primitive elements that `parseDer` has checked. */

const knownOids = new Map<string, string>(Object.values(OID).map((dotted) => [objectIdentifier(dotted).toString('latin1', 2), dotted]));

/** A cache of the dotted forms of other OIDs that were read, for example of policies. */
const seenOids = new Map<string, string>();
const mostSeenOids = 1_000;

/** Returns the dotted form of an OBJECT IDENTIFIER. */
export function oidOf(element: Der, name: string): string {
  if (element.tag !== TAG.oid) refuse('der_malformed', `${name} is not an object identifier.`);
  const octets = element.source.toString('latin1', element.content, element.end);
  const known = knownOids.get(octets) ?? seenOids.get(octets);
  if (known !== undefined) return known;
  const text = dotted(contentsOf(element), name);
  if (seenOids.size < mostSeenOids) seenOids.set(octets, text);
  return text;
}

function dotted(contents: Buffer, name: string): string {
  // The size of an arc has no limit, but no arc in use has more than 128 bits (a UUID, ITU-T X.667).
  if (contents.length > 64) refuse('der_too_large', `${name} is longer than object identifiers are.`);
  const arcs: bigint[] = [];
  let arc = 0n;
  for (const octet of contents) {
    arc = (arc << 7n) | BigInt(octet & 0x7f);
    if (octet < 0x80) {
      arcs.push(arc);
      arc = 0n;
    }
  }
  const [joined = 0n, ...others] = arcs;
  const first = joined < 80n ? joined / 40n : 2n;
  return [first, joined - first * 40n, ...others].join('.');
}

/** Reads an INTEGER of any size in two's complement. The element may have an IMPLICIT tag. */
export function integerOf(element: Der, name: string): bigint {
  const { source, content, end } = element;
  if (!isMinimalInteger(source, content, end)) refuse('der_not_canonical', `${name} is not an INTEGER in the form of DER.`);
  const length = end - content;
  if (length <= 6) return BigInt(source.readIntBE(content, length));
  return BigInt.asIntN(length * 8, BigInt(`0x${source.toString('hex', content, end)}`));
}

/** Reads an INTEGER that is small by definition, such as a version. Returns NaN for any other element: NaN never equals a version. */
export function smallIntegerOf(element: Der): number {
  const length = element.end - element.content;
  return element.tag !== TAG.integer || length > 6 ? Number.NaN : element.source.readIntBE(element.content, length);
}

/** Reads a BOOLEAN DEFAULT FALSE. X.690 §11.5 forbids writing the default, but TSAs and CAs do it. So FALSE and an absent element mean the same. */
export function isTrue(element: Der | undefined): boolean {
  return element !== undefined && element.source[element.content] !== 0;
}

/** Returns the octets of a BIT STRING that has only whole octets, such as a key or a signature. */
export function octetsOfBitString(element: Der, name: string): Buffer {
  const contents = contentsOf(element);
  if (element.tag !== TAG.bitString || contents[0] !== 0) refuse('der_malformed', `${name} is not a BIT STRING of whole octets.`);
  return contents.subarray(1);
}

/** Maximum length of a BIT STRING with named bits. KeyUsage has 9 bits and PKIFailureInfo 26. The limit prevents huge sets. */
const MAX_NAMED_BITS_OCTETS = 9;

/** Returns the numbers of the bits that are 1 in a BIT STRING with named bits. Trailing zero bits are not allowed (X.690 §11.2.2). */
export function namedBitsOf(element: Der, name: string): ReadonlySet<number> {
  const contents = contentsOf(element);
  if (element.tag !== TAG.bitString) refuse('der_malformed', `${name} is not a BIT STRING.`);
  if (contents.length > MAX_NAMED_BITS_OCTETS) refuse('der_too_large', `${name} has ${contents.length} octets.`);
  const unused = contents[0]!;
  const last = contents.at(-1)!;
  if (contents.length > 1 && (last & (1 << unused)) === 0) refuse('der_not_canonical', `${name} has trailing zero bits.`);
  const bits = new Set<number>();
  for (let bit = 0; bit < (contents.length - 1) * 8; bit++) {
    if ((contents[1 + (bit >> 3)]! & (0x80 >> (bit & 7))) !== 0) bits.add(bit);
  }
  return bits;
}

/** Returns true if the elements of a SET OF are sorted by their encodings (X.690 §11.6). */
export function isSortedSet(elements: readonly Der[]): boolean {
  return elements.every((element, i) => i === 0 || Buffer.compare(derOf(elements[i - 1]!), derOf(element)) <= 0);
}

/**
 * Converts `YYYYMMDDHHMMSS[.f…]Z` (X.690 §11.7: UTC, with seconds, without trailing zeros) to microseconds since the epoch. Digits after microseconds
 * are removed. Returns undefined for any other text, and if the date or time does not exist.
 */
export function microsecondsOfTime(text: string): bigint | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.(\d*[1-9]))?Z$/.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [number, number, number, number, number, number];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  // JavaScript turns month 13 or 30 February into a later date. Leap seconds have no number in POSIX time, and a TSA must not use them.
  const isCalendarTime = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  if (!isCalendarTime) return undefined;
  return BigInt(date.getTime()) * 1000n + BigInt((match[7] ?? '').slice(0, 6).padEnd(6, '0'));
}

/**
 * Reads a time of a certificate or CRL, in milliseconds since the epoch. It always has seconds, and is a UTCTime until 2049 (RFC 5280 §4.1.2.5).
 * `tag`: the tag of the type, if the element has an IMPLICIT tag.
 */
export function millisecondsOfTime(element: Der, name: string, tag: number = element.tag): number {
  const text = contentsOf(element).toString('latin1');
  const isUtc = tag === TAG.utcTime && /^\d{12}Z$/.test(text);
  if (!isUtc && !(tag === TAG.generalizedTime && /^\d{14}Z$/.test(text))) refuse('der_malformed', `${name} is not a time.`);
  const micros = microsecondsOfTime(isUtc ? (text < '50' ? `20${text}` : `19${text}`) : text);
  if (micros === undefined) refuse('der_malformed', `${name} is not an existing date and time.`);
  return Number(micros / 1000n);
}
