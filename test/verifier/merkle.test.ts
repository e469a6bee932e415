import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tries } from '../support/depth.ts';
import {
  createInclusionProver,
  createTreeHeadBuilder,
  ctInputs,
  ctRoots,
  definedPath,
  definedRoot,
  headOf,
  leafHash,
  outputs,
  proveInclusion,
  verifyInclusion,
} from '../support/merkle-lab.ts';

describe('Merkle tree head (W9, RFC 9162 §2.1)', () => {
  it('equals the published roots of Certificate Transparency after each leaf', () => {
    const builder = createTreeHeadBuilder();
    expect(builder.head()).toEqual({ treeSize: 0, rootHash: ctRoots[0] });
    ctInputs.forEach((input, i) => {
      builder.append(input);
      expect(builder.head()).toEqual({ treeSize: i + 1, rootHash: ctRoots[i + 1] });
    });
  });

  it('tree and prover equal the definition for any leaves', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 70 }), (inputs) => {
        expect(headOf(inputs).rootHash).toEqual(definedRoot(inputs));
        expect(createInclusionProver(inputs).rootHash).toEqual(definedRoot(inputs));
      }),
    );
  });

  const manyLeaves = tries(100_000, 20_000);

  it(`has the same head for ${manyLeaves} leaves as the tree in memory`, () => {
    const leaves = outputs(manyLeaves);
    const prover = createInclusionProver(leaves);
    expect(prover).toMatchObject(headOf(leaves));
    expect(verifyInclusion(leaves.at(-1)!, prover.proveInclusion(manyLeaves - 1), prover)).toEqual({ ok: true });
  });
});

describe('inclusion proof (RFC 9162 §2.1.3)', () => {
  const largest = tries(40, 20);

  it(`proves every leaf of every size up to ${largest}, by the path of the definition`, () => {
    for (let treeSize = 1; treeSize <= largest; treeSize += 1) {
      const inputs = outputs(treeSize);
      const prover = createInclusionProver(inputs);
      inputs.forEach((input, leafIndex) => {
        const proof = prover.proveInclusion(leafIndex);
        expect(proof.inclusionPath).toEqual(definedPath(leafIndex, inputs));
        expect(verifyInclusion(input, proof, prover)).toEqual({ ok: true });
      });
    }
  });

  it('has no proof for a missing leaf', () => {
    for (const index of [-1, 3, 0.5, Number.NaN]) expect(() => proveInclusion(outputs(3), index)).toThrow(RangeError);
    expect(() => proveInclusion([], 0)).toThrow(RangeError);
  });

  it('counts beyond 32 bits: the first leaf of a tree of 2^40 + 1', () => {
    const path = outputs(41);
    const leaf = Buffer.from('leaf');
    const node = (left: Uint8Array, right: Uint8Array) => createHash('sha256').update(Uint8Array.of(1)).update(left).update(right).digest();
    const rootHash = path.reduce(node, leafHash(leaf));
    const treeSize = 2 ** 40 + 1;
    expect(verifyInclusion(leaf, { treeSize, leafIndex: 0, inclusionPath: path }, { treeSize, rootHash })).toEqual({ ok: true });
    expect(verifyInclusion(leaf, { treeSize, leafIndex: 2 ** 40, inclusionPath: path }, { treeSize, rootHash })).toMatchObject({
      ok: false,
    });
  });
});
