// @ts-check
// Functions for octets and their texts in hexadecimal and base64. They work in Node.js and in every browser.

/** A hash function. It does not keep a reference to its input. @typedef {(octets: Uint8Array) => Uint8Array} HashFunction */

const digitsOf = Array.from({ length: 256 }, (_, octet) => octet.toString(16).padStart(2, '0'));
/** The value of each hexadecimal digit, by its character code. */
const halves = Uint8Array.from({ length: 128 }, (_, code) => Number.parseInt(String.fromCharCode(code), 16) || 0);

/** Converts octets to lower-case hexadecimal. @param {Uint8Array} octets */
export function hexOf(octets) {
  let text = '';
  for (let i = 0; i < octets.length; i += 1) text += digitsOf[/** @type {number} */ (octets[i])];
  return text;
}

/** Returns true for 64 hexadecimal characters, in either case. @param {unknown} text @returns {text is string} */
export const isSha256Hex = (text) => typeof text === 'string' && /^[0-9a-fA-F]{64}$/.test(text);

/** Returns true for 64 lower-case hexadecimal characters: the form of hashes in records. @param {unknown} text @returns {text is string} */
export const isLowerSha256 = (text) => isSha256Hex(text) && text === text.toLowerCase();

/**
 * Returns the 32 octets of a SHA-256 that is given as 64 hexadecimal characters.
 *
 * @param {string} hex
 * @throws {RangeError} for any other text: a shortened hash would not prove the same
 */
export function octetsOfSha256(hex) {
  if (!isSha256Hex(hex)) throw new RangeError('a SHA-256 has 64 hexadecimal characters');
  const octets = new Uint8Array(32);
  for (let i = 0; i < 32; i += 1) {
    octets[i] = /** @type {number} */ (halves[hex.charCodeAt(2 * i)]) * 16 + /** @type {number} */ (halves[hex.charCodeAt(2 * i + 1)]);
  }
  return octets;
}

/** Compares octets in binary order. Returns a negative number, zero or a positive number. @param {Uint8Array} a @param {Uint8Array} b */
export function compareOctets(a, b) {
  for (let i = 0; i < a.length && i < b.length; i += 1) {
    const difference = /** @type {number} */ (a[i]) - /** @type {number} */ (b[i]);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** @param {Uint8Array} a @param {Uint8Array} b */
export const isSame = (a, b) => a.length === b.length && compareOctets(a, b) === 0;

/** @param {readonly Uint8Array[]} parts */
export function concatOctets(parts) {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Decodes UTF-8 as it was signed: a byte order mark stays, so that it is not accepted. @param {Uint8Array} octets */
export const signedTextOf = (octets) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(octets);

/** @param {Uint8Array} octets */
export const base64Of = (octets) => btoa(Array.from(octets, (octet) => String.fromCharCode(octet)).join(''));

/** Decodes base64. Returns undefined if the text is not base64. @param {string} text */
export function octetsOfBase64(text) {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) return undefined;
  const binary = atob(text);
  const octets = new Uint8Array(binary.length);
  for (let i = 0; i < octets.length; i += 1) octets[i] = binary.charCodeAt(i);
  return octets;
}
