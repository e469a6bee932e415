import type { Binary } from 'mongodb';

/** Copies octets that the driver has read. */
export const bytesOf = (binary: Binary): Buffer => Buffer.from(binary.buffer);
