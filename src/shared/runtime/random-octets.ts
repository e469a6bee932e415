import { randomBytes } from 'node:crypto';

/** The number of octets that are drawn at a time: drawing 16 octets costs as much as drawing thousands. */
const drawnOctets = 4_096;
let drawn = Buffer.alloc(0);

/** Returns `length` random octets. No octet is returned twice. */
export function randomOctets(length: number): Buffer {
  if (drawn.length < length) drawn = randomBytes(Math.max(length, drawnOctets));
  const given = drawn.subarray(0, length);
  drawn = drawn.subarray(length);
  return given;
}

const serialOctets = 16;

/**
 * Returns a serial number for a certificate or token. It is positive, has 16 octets (RFC 5280 §4.1.2.2 allows 20), and is so random that it is unique
 * even if other processes sign with the same key (RFC 3161 §2.4.2).
 */
export function randomSerial(): bigint {
  const octets = randomOctets(serialOctets);
  octets[0] = (octets[0]! & 0x7f) | 0x40;
  return BigInt(`0x${octets.toString('hex')}`);
}
