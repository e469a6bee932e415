// @ts-check
// Hash trees of RFC 4998 §4.2: a node is the hash of its children, in binary ascending order. The hash function is that of the evidence record
// (SHA-256, SHA-384 or SHA-512).
import { compareOctets, concatOctets } from './octets.js';

/** A buffer for the digests of two children, up to 64 octets each. Nearly every node has two children, so it is used again and again. */
const pairScratch = new Uint8Array(128);

/**
 * Concatenates several hashes in binary ascending order and hashes the result. A single hash is returned unchanged (RFC 4998 §4.2, §4.3).
 *
 * @template {Uint8Array} Hash
 * @param {(octets: Uint8Array) => Hash} hash
 * @param {readonly Hash[]} hashes one or more
 * @returns {Hash}
 */
export function nodeOf(hash, hashes) {
  const [first, second] = hashes;
  if (first === undefined) throw new RangeError('a list of hashes is empty');
  if (second === undefined) return first;
  const octets = first.length + second.length;
  if (hashes.length > 2 || octets > pairScratch.length) return hash(concatOctets([...hashes].sort(compareOctets)));
  const pair = pairScratch.subarray(0, octets);
  const isAscending = compareOctets(first, second) < 0;
  pair.set(isAscending ? first : second);
  pair.set(isAscending ? second : first, isAscending ? first.length : second.length);
  return hash(pair);
}

/**
 * Computes the root of a reduced hash tree (RFC 4998 §4.3, step 3): each list is hashed together with the hash of the previous list.
 *
 * @template {Uint8Array} Hash
 * @param {(octets: Uint8Array) => Hash} hash
 * @param {readonly (readonly Hash[])[]} lists one or more, none of them empty
 * @returns {Hash}
 */
export function rootOf(hash, [first, ...others]) {
  return others.reduce((node, list) => nodeOf(hash, [node, ...list]), nodeOf(hash, first ?? []));
}
