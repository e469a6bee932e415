import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InclusionProof, TreeHead } from '../../src/shared/proof/merkle-tree.js';
import { createInclusionProver, headOf, leafHash, outputs, proveInclusion, verifyInclusion } from '../support/merkle-lab.ts';

describe('a verifier must refuse (refusal 48)', () => {
  const inputs = outputs(7);
  const prover = createInclusionProver(inputs);
  const head: TreeHead = { treeSize: 7, rootHash: prover.rootHash };
  const proof = prover.proveInclusion(2);
  const judge = (changed: Partial<InclusionProof>, leaf: Uint8Array = inputs[2]!, against: TreeHead = head) =>
    verifyInclusion(leaf, { ...proof, ...changed }, against);

  it('accepts the proof that the others are made from', () => expect(judge({})).toEqual({ ok: true }));

  it('48: a node presented as a leaf', () => {
    const children = Buffer.concat([leafHash(inputs[0]!), leafHash(inputs[1]!)]);
    const pair = headOf(inputs.slice(0, 2));
    // Without prefixes these two hashes would be equal.
    const asLeaf: InclusionProof = { treeSize: 1, leafIndex: 0, inclusionPath: [] };
    expect(verifyInclusion(children, asLeaf, { treeSize: 1, rootHash: pair.rootHash })).toEqual({ ok: false, fault: 'root_mismatch' });
  });

  it('48: a leaf presented as a node', () => {
    const forged: InclusionProof = { treeSize: 2, leafIndex: 0, inclusionPath: [leafHash(inputs[1]!)] };
    const leafOfBoth = leafHash(Buffer.concat([leafHash(inputs[0]!), leafHash(inputs[1]!)]));
    expect(verifyInclusion(inputs[0]!, forged, { treeSize: 2, rootHash: leafOfBoth })).toEqual({ ok: false, fault: 'root_mismatch' });
  });

  it('48: [A,B,C] proven as [A,B,C,C]', () => {
    const [a, b, c] = inputs as [Buffer, Buffer, Buffer];
    const three = headOf([a, b, c]);
    const doubled = proveInclusion([a, b, c, c], 3);
    expect(verifyInclusion(c, doubled, three)).toEqual({ ok: false, fault: 'tree_size_mismatch' });
    expect(verifyInclusion(c, doubled, { ...three, treeSize: 4 })).toEqual({ ok: false, fault: 'root_mismatch' });
  });

  const { inclusionPath } = proof;
  const wrong: readonly (readonly [what: string, changed: Partial<InclusionProof>, fault: string])[] = [
    ['another index', { leafIndex: 3 }, 'root_mismatch'],
    ['an index whose path is shorter', { leafIndex: 6 }, 'path_too_long'],
    ...[7, -1, 2.5, Number.NaN].map((leafIndex) => [`the index ${leafIndex}`, { leafIndex }, 'leaf_index_out_of_range'] as const),
    ...[0, 6, 8, 14, 7.5, Number.NaN].map((treeSize) => [`the size ${treeSize}`, { treeSize }, 'tree_size_mismatch'] as const),
    ['a path that is too long', { inclusionPath: [...inclusionPath, head.rootHash] }, 'path_too_long'],
    ['a path that is too short', { inclusionPath: inclusionPath.slice(0, -1) }, 'path_too_short'],
    ['something that is no hash', { inclusionPath: [...inclusionPath, Buffer.alloc(0)] }, 'hash_malformed'],
  ];
  it.each(wrong)('48: %s', (_what, changed, fault) => expect(judge(changed)).toEqual({ ok: false, fault }));

  it("48: another workflow's proof", () => {
    const other = createInclusionProver(outputs(7, 'other'));
    expect(verifyInclusion(outputs(7, 'other')[2]!, other.proveInclusion(2), head)).toEqual({ ok: false, fault: 'root_mismatch' });
    expect(judge({}, inputs[2], other)).toEqual({ ok: false, fault: 'root_mismatch' });
    expect(judge({}, inputs[2], { treeSize: 7, rootHash: Buffer.alloc(31) })).toEqual({ ok: false, fault: 'hash_malformed' });
  });

  it('48: any leaf, index, size, path or root other than the proven one', () => {
    const someTree = fc.tuple(fc.integer({ min: 2, max: 60 }), fc.nat(), fc.nat(), fc.nat()).map(([treeSize, a, b, bit]) => ({
      treeSize,
      leafIndex: a % treeSize,
      otherIndex: b % treeSize,
      bit,
    }));
    fc.assert(
      fc.property(someTree, ({ treeSize, leafIndex, otherIndex, bit }) => {
        const leaves = outputs(treeSize);
        const tree = createInclusionProver(leaves);
        const whole = tree.proveInclusion(leafIndex);
        const flipped = whole.inclusionPath.map((node) => Buffer.from(node));
        const target = flipped[bit % flipped.length]!;
        target[bit % 32]! ^= 1 << (bit % 8);
        expect(verifyInclusion(leaves[leafIndex]!, { ...whole, inclusionPath: flipped }, tree).ok).toBe(false);
        if (otherIndex === leafIndex) return;
        expect(verifyInclusion(leaves[leafIndex]!, { ...whole, leafIndex: otherIndex }, tree).ok).toBe(false);
        expect(verifyInclusion(leaves[otherIndex]!, whole, tree).ok).toBe(false);
      }),
    );
  });
});
