/**
 * This module writes DER (ITU-T X.690 §8 and §10). Each function returns one complete element. Elements that are already encoded are written
 * unchanged, so that a signature over an element covers exactly the octets that are sent.
 */

/** Writes an element (tag, length, contents) with a tag of one octet. */
export function tlv(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  let length = 0;
  for (const part of contents) length += part.length;
  const out = Buffer.allocUnsafe(headerOctets(length) + length);
  let offset = writeHeader(out, tag, length);
  for (const part of contents) {
    out.set(part, offset);
    offset += part.length;
  }
  return out;
}

/** Writes the tag and length of an element with `length` octets of contents. */
export function headerOf(tag: number, length: number): Buffer {
  const header = Buffer.allocUnsafe(headerOctets(length));
  writeHeader(header, tag, length);
  return header;
}

/** Returns the number of octets for tag and length, in the shortest definite form (X.690 §10.1). */
function headerOctets(length: number): number {
  let octets = 2;
  if (length >= 0x80) for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) octets += 1;
  return octets;
}

/** Writes tag and length into `out`, and returns where the contents begin. */
function writeHeader(out: Buffer, tag: number, length: number): number {
  const octets = headerOctets(length);
  out[0] = tag;
  out[1] = length < 0x80 ? length : 0x80 | (octets - 2);
  for (let at = octets - 1, rest = length; at > 1; at -= 1, rest = Math.floor(rest / 256)) out[at] = rest % 256;
  return octets;
}

export function sequence(...elements: readonly Uint8Array[]): Buffer {
  return tlv(0x30, ...elements);
}

/** Writes a SET OF. The elements are sorted by their encodings (X.690 §11.6). */
export function setOf(...elements: readonly Uint8Array[]): Buffer {
  return tlv(0x31, ...(elements.length > 1 ? elements.toSorted(Buffer.compare) : elements));
}

/** Writes an INTEGER: two's complement in as few octets as possible (X.690 §8.3). */
export function integer(value: bigint | number): Buffer {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 0x80) return Buffer.from([0x02, 0x01, value]);
  const number = BigInt(value);
  const magnitude = (number < 0n ? ~number : number).toString(16);
  const digits = magnitude.length % 2 === 1 ? `0${magnitude}` : magnitude;
  // The first bit is the sign, so a zero octet comes first if the first digit is 8 or more.
  const octets = Buffer.from(digits >= '8' ? `00${digits}` : digits, 'hex');
  if (number < 0n) for (const [i, octet] of octets.entries()) octets[i] = ~octet;
  return tlv(0x02, octets);
}

export function enumerated(value: number): Buffer {
  const out = integer(value);
  out[0] = 0x0a;
  return out;
}

export function boolean(value: boolean): Buffer {
  return Buffer.from([0x01, 0x01, value ? 0xff : 0x00]);
}

export function nullValue(): Buffer {
  return Buffer.from([0x05, 0x00]);
}

export function octetString(...contents: readonly Uint8Array[]): Buffer {
  return tlv(0x04, ...contents);
}

/** Writes a BIT STRING of whole octets. */
export function bitString(...contents: readonly Uint8Array[]): Buffer {
  return tlv(0x03, Buffer.from([0]), ...contents);
}

/** Writes a BIT STRING of named bits, without trailing zero bits (X.690 §11.2.2). Bit 0 is the first bit. */
export function namedBits(...bits: readonly number[]): Buffer {
  if (bits.length === 0) return tlv(0x03, Buffer.from([0]));
  const highest = Math.max(...bits);
  const octets = Buffer.alloc(Math.floor(highest / 8) + 1);
  for (const bit of bits) octets[bit >> 3]! |= 0x80 >> (bit & 7);
  return tlv(0x03, Buffer.from([7 - (highest & 7)]), octets);
}

const encodedOids = new Map<string, Buffer>();

/** Writes an OBJECT IDENTIFIER from its dotted form. The result is cached and shared, so do not modify it. */
export function objectIdentifier(dotted: string): Buffer {
  let encoded = encodedOids.get(dotted);
  if (encoded === undefined) {
    encoded = encodeOid(dotted);
    if (encodedOids.size < 1000) encodedOids.set(dotted, encoded);
  }
  return encoded;
}

function encodeOid(dotted: string): Buffer {
  if (!/^(?:[01]\.(?:[0-9]|[1-3][0-9])|2\.(?:0|[1-9][0-9]*))(?:\.(?:0|[1-9][0-9]*))*$/.test(dotted))
    throw new RangeError(`not an object identifier: ${dotted}`);
  const [first, second, ...others] = dotted.split('.').map(BigInt);
  const octets: number[] = [];
  for (const arc of [first! * 40n + second!, ...others]) {
    const base128 = [Number(arc & 0x7fn)];
    for (let rest = arc >> 7n; rest > 0n; rest >>= 7n) base128.unshift(Number(rest & 0x7fn) | 0x80);
    octets.push(...base128);
  }
  return tlv(0x06, Buffer.from(octets));
}

export function utf8String(text: string): Buffer {
  return tlv(0x0c, Buffer.from(text, 'utf8'));
}

export function ia5String(text: string): Buffer {
  return tlv(0x16, Buffer.from(text, 'ascii'));
}

/** Writes a GeneralizedTime with a text such as `20261121120000.25Z`. The caller is responsible for its form (X.690 §11.7). */
export function generalizedTime(text: string): Buffer {
  return tlv(0x18, Buffer.from(text, 'ascii'));
}

/** Writes a UTCTime with a text such as `261121120000Z`. */
export function utcTime(text: string): Buffer {
  return tlv(0x17, Buffer.from(text, 'ascii'));
}

/** Writes `[number]` around a complete element. Given only the contents of a constructed type, it writes `[number] IMPLICIT`. */
export function contextConstructed(number: number, ...contents: readonly Uint8Array[]): Buffer {
  return tlv(0xa0 | number, ...contents);
}

/** Writes `[number] IMPLICIT` with the contents of a primitive type. */
export function contextPrimitive(number: number, ...contents: readonly Uint8Array[]): Buffer {
  return tlv(0x80 | number, ...contents);
}

/** Copies an encoded element and gives the copy another tag (IMPLICIT tagging). */
export function retag(tag: number, der: Uint8Array): Buffer {
  const out = Buffer.from(der);
  out[0] = tag;
  return out;
}
