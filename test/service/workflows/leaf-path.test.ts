import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { crownOf, lowerPathOf, wholePathOf } from '../../../src/shared/domain/evidence.ts';
import { buildHashTree } from '../../../src/shared/rfc3161/index.ts';

const some = (count: number) => Array.from({ length: count }, () => randomBytes(32));
const treeOf = (leaves: number) =>
  buildHashTree(
    'sha256',
    some(leaves).map((digest) => [digest]),
    some(leaves),
  );

test.each([2, 3, 5, 7, 64, 127, 128, 129, 130, 200, 257, 1_000, 4_096])(
  'RFC 4998 §4.2: the stored parts of the paths of %i leaves give the paths',
  (leaves) => {
    const tree = treeOf(leaves);
    const crown = crownOf(tree.levels);
    expect(crown.length).toBeLessThan(256 * 32);
    for (let index = 0; index < leaves; index += leaves > 300 ? 7 : 1) {
      const place = { index, leaves };
      const path = tree.pathOf(index);
      const lower = lowerPathOf(place, path);
      expect(lower.length).toBeLessThanOrEqual(32 * (1 + Math.max(0, Math.ceil(Math.log2(leaves)) - 7)));
      expect(wholePathOf(place, lower, crown, 32)).toEqual(path);
    }
  },
);

test('V1: parts that do not match give no path', () => {
  const leaves = 300;
  const tree = treeOf(leaves);
  const [crown, path] = [crownOf(tree.levels), tree.pathOf(0)];
  const place = { index: 0, leaves };
  const lower = lowerPathOf(place, path);
  expect(wholePathOf(place, lower, crown, 32)).toEqual(path);
  for (const index of [-1, leaves, 0.5, Number.NaN]) expect(wholePathOf({ index, leaves }, lower, crown, 32)).toBeUndefined();
  for (const wrong of [leaves + 1, 2 ** 40, Number.POSITIVE_INFINITY])
    expect(wholePathOf({ index: 0, leaves: wrong }, lower, crown, 32)).toBeUndefined();
  expect(wholePathOf(place, lower.subarray(1), crown, 32)).toBeUndefined();
  expect(wholePathOf(place, lower, crown.subarray(32), 32)).toBeUndefined();
  expect(wholePathOf(place, lower, crown, 48)).toBeUndefined();
});
