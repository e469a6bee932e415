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
