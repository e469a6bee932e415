import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { buildHashTree, nodeOf, rootOf } from '../../../src/shared/rfc3161/ers/hash-tree.ts';

const sorted = (hashes: readonly Buffer[]) => Buffer.concat([...hashes].sort(Buffer.compare));

test('a node is the hash of what is below it in binary ascending order (RFC 4998 §4.2)', () => {
  for (const [algorithm, octets] of [
    ['sha256', 32],
    ['sha384', 48],
    ['sha512', 64],
  ] as const) {
    for (const count of [2, 2, 2, 3, 5]) {
      const hashes = Array.from({ length: count }, () => randomBytes(octets));
      expect(nodeOf(algorithm, hashes)).toEqual(createHash(algorithm).update(sorted(hashes)).digest());
    }
  }
  const [short, long] = [Buffer.alloc(3, 1), Buffer.alloc(200, 1)];
  for (const hashes of [
    [short, long],
    [long, short],
    [long, long],
  ]) {
    expect(nodeOf('sha256', hashes)).toEqual(createHash('sha256').update(sorted(hashes)).digest());
  }
});

test('a path leads from its group to the root, and there is none of a group that the tree does not have', () => {
  for (const leaves of [1, 2, 3, 7, 64]) {
    const groups = Array.from({ length: leaves }, () => [randomBytes(32)]);
    const tree = buildHashTree(
      'sha256',
      groups,
      groups.map(() => randomBytes(32)),
    );
    for (const [index, group] of groups.entries()) {
      const path = tree.pathOf(index);
      expect(tree.reducedHashtreeOf(index)).toEqual([group, ...path.map((hash) => [hash])]);
      expect(rootOf('sha256', tree.reducedHashtreeOf(index))).toEqual(tree.root);
    }
    for (const index of [-1, leaves, 0.5]) expect(() => tree.pathOf(index)).toThrow(RangeError);
  }
});
