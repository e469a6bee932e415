import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TreeHead } from '../../src/shared/proof/merkle-tree.js';
import { createMerkleTree, definedRoot, outputs, verifyConsistency } from '../support/merkle-lab.ts';

function treeOf(inputs: readonly Uint8Array[]) {
  const tree = createMerkleTree();
  for (const input of inputs) tree.append(input);
  return { ...tree, size: () => tree.treeSize, headAt: (treeSize: number): TreeHead => ({ treeSize, rootHash: tree.rootAt(treeSize) }) };
}

const largest = 40;
const tree = treeOf(outputs(largest));

/** RFC 9162 §2.1.4.1, copied from its definition: an oracle that shares no code with ours. */
function definedSubproof(m: number, inputs: readonly Uint8Array[], isKnown: boolean): Uint8Array[] {
  if (m === inputs.length) return isKnown ? [] : [definedRoot(inputs)];
  let k = 1;
  while (k * 2 < inputs.length) k *= 2;
  return m <= k
    ? [...definedSubproof(m, inputs.slice(0, k), isKnown), definedRoot(inputs.slice(k))]
    : [...definedSubproof(m - k, inputs.slice(k), false), definedRoot(inputs.slice(0, k))];
}

describe('consistency proof (RFC 9162 §2.1.4)', () => {
  it('proves every pair of sizes up to 40, by the path of the definition', () => {
    const leaves = outputs(largest);
    for (let second = 1; second <= largest; second += 1) {
      for (let first = 1; first <= second; first += 1) {
        const proof = tree.proveConsistency(first, second);
        expect(verifyConsistency(proof, tree.headAt(first), tree.headAt(second)), `${first} to ${second}`).toEqual({ ok: true });
        expect(proof.consistencyPath).toEqual(definedSubproof(first, leaves.slice(0, second), true));
      }
    }
  });

  it('has no proof for sizes that the tree never had, or from an empty tree', () => {
    for (const [first, second] of [
      [0, 3],
      [4, 3],
      [1, 41],
      [1.5, 3],
      [1, Number.NaN],
    ] as const) {
      expect(() => tree.proveConsistency(first, second), `${first} to ${second}`).toThrow(RangeError);
    }
  });
});

describe('a verifier of consistency must refuse (refusal 48)', () => {
  const [first, second] = [tree.headAt(5), tree.headAt(13)];
  const whole = tree.proveConsistency(5, 13);
  const { consistencyPath } = whole;
  /** A path for the sizes of the given heads: only the path and the roots can be wrong. */
  const judge = (path: readonly Uint8Array[], from: TreeHead = first, to: TreeHead = second) =>
    verifyConsistency({ firstSize: from.treeSize, secondSize: to.treeSize, consistencyPath: path }, from, to);

  it('accepts the proof that the others are made from', () => expect(judge(consistencyPath)).toEqual({ ok: true }));

  it('48: an output that was changed, removed or moved since the first tree was shown', () => {
    const leaves = outputs(13);
    const changed = [leaves.with(2, outputs(1, 'other')[0]!), leaves.toSpliced(2, 1), leaves.with(0, leaves[1]!).with(1, leaves[0]!)];
    for (const others of changed.map(treeOf)) {
      const size = others.size();
      expect(judge(others.proveConsistency(5, size).consistencyPath, first, others.headAt(size))).toMatchObject({ ok: false });
    }
  });

  it('48: a wrong size, a path too short or too long, an invalid hash, another root', () => {
    expect(judge(consistencyPath, { ...first, treeSize: 0 })).toEqual({ ok: false, fault: 'tree_size_mismatch' });
    expect(judge(consistencyPath, { ...first, treeSize: 14 })).toEqual({ ok: false, fault: 'tree_size_mismatch' });
    expect(judge(consistencyPath, { ...first, treeSize: 6 })).toMatchObject({ ok: false });
    for (const sizes of [{ firstSize: 4 }, { secondSize: 14 }, { secondSize: Number.NaN }]) {
      expect(verifyConsistency({ ...whole, ...sizes }, first, second)).toEqual({ ok: false, fault: 'tree_size_mismatch' });
    }
    expect(judge(consistencyPath.slice(0, -1))).toEqual({ ok: false, fault: 'path_too_short' });
    expect(judge([])).toEqual({ ok: false, fault: 'path_too_short' });
    expect(judge([...consistencyPath, first.rootHash])).toEqual({ ok: false, fault: 'path_too_long' });
    expect(judge([...consistencyPath.slice(0, -1), Buffer.alloc(31)])).toEqual({ ok: false, fault: 'hash_malformed' });
    expect(judge(consistencyPath, tree.headAt(4), second)).toMatchObject({ ok: false });
    expect(judge(consistencyPath, first, { ...second, rootHash: first.rootHash })).toEqual({ ok: false, fault: 'root_mismatch' });
    expect(judge([first.rootHash], first, first)).toEqual({ ok: false, fault: 'path_too_long' });
    expect(judge([], first, { ...first, rootHash: second.rootHash })).toEqual({ ok: false, fault: 'root_mismatch' });
  });

  it('48: any flipped bit in the path', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 39 }), fc.integer({ min: 1, max: 40 }), fc.nat(), (from, to, bit) => {
        fc.pre(from < to);
        const path = tree.proveConsistency(from, to).consistencyPath.map((node) => Buffer.from(node));
        const target = path[bit % path.length]!;
        target[bit % 32]! ^= 1 << (bit % 8);
        expect(judge(path, tree.headAt(from), tree.headAt(to)).ok).toBe(false);
      }),
    );
  });
});
