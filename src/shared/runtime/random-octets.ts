import { randomBytes } from 'node:crypto';

/** Drawn at once: a draw costs as much for 16 octets as for thousands. */
const drawnOctets = 4_096;
let drawn = Buffer.alloc(0);

/** `length` random octets. None is given out twice. */
export function randomOctets(length: number): Buffer {
  if (drawn.length < length) drawn = randomBytes(Math.max(length, drawnOctets));
  const given = drawn.subarray(0, length);
  drawn = drawn.subarray(length);
  return given;
}

const serialOctets = 16;

/**
 * A serial number of a certificate or of a token: positive, of 16 octets (RFC 5280 §4.1.2.2 allows 20), and so random that no two are the same, whoever else
 * signs with the same key (RFC 3161 §2.4.2).
 */
export function randomSerial(): bigint {
  const octets = randomOctets(serialOctets);
  octets[0] = (octets[0]! & 0x7f) | 0x40;
  return BigInt(`0x${octets.toString('hex')}`);
}
