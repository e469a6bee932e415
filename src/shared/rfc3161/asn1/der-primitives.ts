import { refuse } from '../refusal/refusal.ts';
import { TAG } from './tags.ts';

/** This module checks that primitive values have the only form that DER allows (X.690 §8, §10, §11). */

/** NumericString, TeletexString, VideotexString, GraphicString, VisibleString, GeneralString, UniversalString. Their octets are not checked. */
const OTHER_STRINGS: ReadonlySet<number> = new Set([0x12, 0x14, 0x15, 0x19, 0x1a, 0x1b, 0x1c]);

/** Checks the contents of a primitive type. It does not check that the date of a time exists: the reader of times checks this. */
export function checkPrimitive(tag: number, source: Buffer, content: number, end: number): void {
  const length = end - content;
  switch (tag) {
    case TAG.boolean:
      if (length !== 1 || (source[content] !== 0x00 && source[content] !== 0xff)) reject('BOOLEAN', content);
      return;
    case TAG.integer:
    case TAG.enumerated:
      if (!isMinimalInteger(source, content, end)) reject('INTEGER', content);
      return;
    case TAG.bitString:
      if (!isCanonicalBitString(source, content, end)) reject('BIT STRING', content);
      return;
    case TAG.null:
      if (length !== 0) reject('NULL', content);
      return;
    case TAG.oid:
      if (!isCanonicalOid(source, content, end)) reject('OBJECT IDENTIFIER', content);
      return;
    case TAG.utf8String:
      if (!isUtf8(source, content, end)) reject('UTF8String', content);
      return;
    case TAG.printableString: // Any ASCII is accepted, because CAs write '&', '@' and '*' into it, against X.680 §41.4.
    case TAG.ia5String:
    case TAG.utcTime:
    case TAG.generalizedTime:
      if (!isAscii(source, content, end)) reject('character string', content);
      return;
    case TAG.bmpString:
      if (length % 2 !== 0) reject('BMPString', content);
      return;
    case TAG.octetString:
      return;
    default:
      if (!OTHER_STRINGS.has(tag)) refuse('der_malformed', `No time-stamp has an element of type ${tag}, as at octet ${content}.`);
  }
}

function reject(what: string, content: number): never {
  refuse('der_not_canonical', `The ${what} at octet ${content} is not in the form of DER.`);
}

function isAscii(source: Buffer, content: number, end: number): boolean {
  for (let i = content; i < end; i++) if (source[i]! >= 0x80) return false;
  return true;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function isUtf8(source: Buffer, content: number, end: number): boolean {
  if (isAscii(source, content, end)) return true;
  try {
    utf8.decode(source.subarray(content, end));
    return true;
  } catch {
    return false; // A fatal decoder throws if the octets are not UTF-8.
  }
}

/** Returns true if an INTEGER has as few octets as possible (X.690 §8.3.2). */
export function isMinimalInteger(source: Buffer, content: number, end: number): boolean {
  if (content === end) return false;
  if (end - content === 1) return true;
  const first = source[content]!;
  const second = source[content + 1]!;
  return !((first === 0x00 && second < 0x80) || (first === 0xff && second >= 0x80));
}

/** Returns true if the first octet of a BIT STRING counts its unused bits, and these bits are zero (X.690 §8.6.2, §11.2.1). */
function isCanonicalBitString(source: Buffer, content: number, end: number): boolean {
  if (content === end) return false;
  const unused = source[content]!;
  if (unused === 0) return true;
  return unused <= 7 && end - content > 1 && (source[end - 1]! & ((1 << unused) - 1)) === 0;
}

/** Returns true if each arc has its shortest form, and the last arc is complete (X.690 §8.19.2). */
function isCanonicalOid(source: Buffer, content: number, end: number): boolean {
  if (content === end || (source[end - 1]! & 0x80) !== 0) return false;
  let atArcStart = true;
  for (let i = content; i < end; i++) {
    if (atArcStart && source[i] === 0x80) return false;
    atArcStart = (source[i]! & 0x80) === 0;
  }
  return true;
}
