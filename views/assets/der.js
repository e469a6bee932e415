// @ts-check
// Reads enough DER (X.690) to find the imprint in a time-stamp token. The service verified the token before it stored it, so this does not check
// the encoding.

/** @typedef {{ tag: number, octets: Uint8Array, contents: Uint8Array }} Element */

/** The bytes are not DER, or do not have the expected structure. */
export class DerFault extends Error {}
/** The pages cannot judge these bytes, but other programs may: they are BER, or use an algorithm that is not known here. The message is a reason. */
export class UnjudgedFault extends DerFault {}

/** Reads the first element of some bytes. @param {Uint8Array} octets @returns {Element} */
export function readElement(octets) {
  const [tag, short] = octets;
  if (tag === undefined || short === undefined || (tag & 0x1f) === 0x1f) throw new DerFault('no element');
  const lengthOctets = short < 0x80 ? 0 : short & 0x7f;
  if (short === 0x80) throw new UnjudgedFault('not_der: This page reads only time-stamps in DER; qstamp verify reads this one.');
  if (lengthOctets > 4) throw new DerFault('no definite length');
  let length = short;
  if (lengthOctets > 0) length = octets.subarray(2, 2 + lengthOctets).reduce((sum, octet) => sum * 256 + octet, 0);
  const start = 2 + lengthOctets;
  if (start + length > octets.length) throw new DerFault('cut off');
  return { tag, octets: octets.subarray(0, start + length), contents: octets.subarray(start, start + length) };
}

/** Reads the elements inside an element. @param {Element} element @returns {Element[]} */
export function childrenOf({ contents }) {
  const children = [];
  for (let at = 0; at < contents.length; ) {
    const child = readElement(contents.subarray(at));
    children.push(child);
    at += child.octets.length;
  }
  return children;
}

/** Finds the first element with a tag. @param {Element[]} elements @param {number} tag */
export function withTag(elements, tag) {
  const found = elements.find((element) => element.tag === tag);
  if (!found) throw new DerFault('something is missing');
  return found;
}
