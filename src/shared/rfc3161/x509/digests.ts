import { hash } from 'node:crypto';
import { objectIdentifier, sequence } from '../asn1/der-writer.ts';
import { OID } from '../asn1/oids.ts';
import type { DigestAlgorithm } from './algorithms.ts';

/** Writes the AlgorithmIdentifier of a digest, without parameters (RFC 5754 §2). */
export function digestIdentifier(digest: DigestAlgorithm | 'sha1'): Buffer {
  return sequence(objectIdentifier(OID[digest]));
}

/** Computes a digest. `algorithm` is its name in `node:crypto`. Via text it takes half the time, because a buffer from `hash` needs its own memory. */
export function digestData(algorithm: string, data: Uint8Array): Buffer {
  return Buffer.from(hash(algorithm, data, 'binary'), 'binary');
}
