import type { Binary } from 'mongodb';

/** A copy of the octets that the driver has read. */
export const bytesOf = (binary: Binary): Buffer => Buffer.from(binary.buffer);
