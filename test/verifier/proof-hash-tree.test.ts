import { createHash, hash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { nodeOf, rootOf } from '../../src/shared/proof/hash-tree.js';

const sorted = (hashes: readonly Buffer[]) => Buffer.concat([...hashes].sort(Buffer.compare));

const sha256 = (octets: Uint8Array) => hash('sha256', octets, 'buffer');

test('a node is the hash of its children in binary ascending order (RFC 4998 §4.2)', () => {
  for (const [algorithm, octets] of Object.entries({ sha256: 32, sha384: 48, sha512: 64 })) {
    for (const count of [2, 2, 2, 3, 5]) {
      const hashes = Array.from({ length: count }, () => randomBytes(octets));
      expect(nodeOf((octets) => hash(algorithm, octets, 'buffer'), hashes)).toEqual(createHash(algorithm).update(sorted(hashes)).digest());
    }
  }
  const [short, long] = [Buffer.alloc(3, 1), Buffer.alloc(200, 1)];
  for (const hashes of [
    [short, long],
    [long, short],
    [long, long],
  ]) {
    expect(nodeOf(sha256, hashes)).toEqual(createHash('sha256').update(sorted(hashes)).digest());
  }
});

test('a root is the hash of each list with the hash of the previous one (RFC 4998 §4.3); an empty list has none', () => {
  const [a, b, c, d] = Array.from({ length: 4 }, () => randomBytes(32)) as [Buffer, Buffer, Buffer, Buffer];
  expect(rootOf(sha256, [[a]])).toEqual(a);
  expect(rootOf(sha256, [[a, b], [c], [d]])).toEqual(sha256(sorted([sha256(sorted([sha256(sorted([a, b])), c])), d])));
  for (const lists of [[], [[]]]) expect(() => rootOf(sha256, lists)).toThrow(RangeError);
});
