import { randomBytes } from 'node:crypto';

/** Drawn together: 16 octets cost as much as thousands. */
const drawnOctets = 4_096;
let drawn = Buffer.alloc(0);

/** `length` random octets, each used only once. */
export function randomOctets(length: number): Buffer {
  if (drawn.length < length) drawn = randomBytes(Math.max(length, drawnOctets));
  const given = drawn.subarray(0, length);
  drawn = drawn.subarray(length);
  return given;
}

const serialOctets = 16;

/**
 * A serial number for a certificate or token: positive, 16 octets (RFC 5280 §4.1.2.2 allows 20), and random enough to be unique, even if others
 * sign with the same key (RFC 3161 §2.4.2).
 */
export function randomSerial(): bigint {
  const octets = randomOctets(serialOctets);
  octets[0] = (octets[0]! & 0x7f) | 0x40;
  return BigInt(`0x${octets.toString('hex')}`);
}
