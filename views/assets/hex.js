// @ts-check

/** Lower-case hexadecimal text. @param {Uint8Array} octets */
export const hexOf = (octets) => Array.from(octets, (octet) => octet.toString(16).padStart(2, '0')).join('');

/** The octets of a SHA-256; undefined where the text is none. @param {unknown} hex */
export function octetsOf(hex) {
  if (typeof hex !== 'string' || !/^[0-9a-f]{64}$/.test(hex)) return undefined;
  const octets = new Uint8Array(32);
  for (let i = 0; i < 32; i += 1) octets[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return octets;
}

/** @param {Uint8Array} a @param {Uint8Array} b */
export const isSame = (a, b) => a.length === b.length && a.every((octet, i) => octet === b[i]);
