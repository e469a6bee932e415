import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/shared/domain/proofs.ts';
import { rootOf } from '../../src/shared/proof/hash-tree.js';
import { buildHashTree } from '../../src/shared/rfc3161/ers/hash-tree.ts';

test('a path leads from its group to the root, and a group outside the tree has no path', () => {
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
      expect(rootOf(sha256, tree.reducedHashtreeOf(index))).toEqual(tree.root);
    }
    for (const index of [-1, leaves, 0.5]) expect(() => tree.pathOf(index)).toThrow(RangeError);
  }
});
