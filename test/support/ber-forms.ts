import { contentsOf, type Der, derOf, TAG } from '../../src/shared/rfc3161/asn1/der.ts';
import { headerOf, tlv } from '../../src/shared/rfc3161/asn1/der-writer.ts';

/** Other BER encodings of the same value (X.690 §8.1.3, §8.7.3). */

export const END_MARK = Buffer.from([0, 0]);

/** A tag with a length of `octets` octets, even if the value is small. */
export function longForm(tag: number, contents: Buffer, octets: number): Buffer {
  const length = Buffer.alloc(octets);
  length.writeUIntBE(contents.length, Math.max(0, octets - 6), Math.min(6, octets));
  return Buffer.concat([Buffer.from([tag, 0x80 | octets]), length, contents]);
}

export const indefinite = (tag: number, ...contents: readonly Uint8Array[]): Buffer =>
  Buffer.concat([Buffer.from([tag, 0x80]), ...contents, END_MARK]);

/**
 * Rewrites an element; `choose` picks the form of each part (a number from 0 to 255 each time).
 *
 * @param keeps whether an element stays unchanged, with its contents
 */
export function berOf(element: Der, choose: () => number, keeps: (element: Der) => boolean = () => false): Buffer {
  if (keeps(element)) return derOf(element);
  const isConstructed = element.children.length > 0 || (element.tag & 0x20) !== 0;
  if (!isConstructed) {
    const contents = contentsOf(element);
    if (element.tag === TAG.octetString && choose() < 128) return octetsInPieces(contents, choose, 3);
    return choose() < 64 ? longForm(element.tag, contents, lengthOctets(contents, choose)) : tlv(element.tag, contents);
  }
  const inner = Buffer.concat(element.children.map((child) => berOf(child, choose, keeps)));
  const form = choose();
  if (form < 96) return indefinite(element.tag, inner);
  if (form < 160) return longForm(element.tag, inner, lengthOctets(inner, choose));
  return Buffer.concat([headerOf(element.tag, inner.length), inner]);
}

/** More octets than needed, up to five: OpenSSL's file reader accepts no more in the outermost header. */
const lengthOctets = (contents: Buffer, choose: () => number): number =>
  Math.min(5, Math.ceil(Math.log2(contents.length + 1) / 8) + 1 + (choose() % 4));

function octetsInPieces(contents: Buffer, choose: () => number, depth: number): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < contents.length; ) {
    if (choose() < 16) pieces.push(tlv(TAG.octetString));
    const size = 1 + (choose() % 97);
    const piece = contents.subarray(at, at + size);
    pieces.push(depth > 0 && choose() < 64 ? octetsInPieces(piece, choose, depth - 1) : tlv(TAG.octetString, piece));
    at += size;
  }
  return choose() < 128 ? indefinite(0x24, ...pieces) : tlv(0x24, ...pieces);
}

/** A `choose` for `berOf` that repeats `numbers` and adds the count of repetitions, so that it is deterministic and does not cycle. */
export function chooserOf(numbers: Uint8Array): () => number {
  let at = 0;
  return () => {
    const round = Math.floor(at / numbers.length);
    return (numbers[at++ % numbers.length]! + round * 31) & 0xff;
  };
}
