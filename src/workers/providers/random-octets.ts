import { randomBytes } from 'node:crypto';

/** Drawn at once: a draw costs as much for 16 octets as for thousands. */
const drawnOctets = 4_096;
let drawn = Buffer.alloc(0);

/** So many octets from the system's generator, 4 096 at most. Each is given out once. */
export function randomOctets(length: number): Buffer {
  if (drawn.length < length) drawn = randomBytes(drawnOctets);
  const given = drawn.subarray(0, length);
  drawn = drawn.subarray(length);
  return given;
}
