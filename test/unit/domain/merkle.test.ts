import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMerkleTree } from '../../../src/api/services/workflows/merkle-tree.ts';
import { createTreeHeadBuilder, leafHash, type TreeHead } from '../../../src/shared/domain/merkle.ts';
import { type InclusionProof, verifyInclusion } from '../../../src/shared/domain/merkle-proof.ts';

import { tries } from '../../support/depth.ts';

/** A tree of which only its last size counts. */
function createInclusionProver(inputs: Iterable<Uint8Array>) {
  const tree = createMerkleTree();
  for (const input of inputs) tree.append(input);
  const { treeSize } = tree;
  return { treeSize, rootHash: tree.rootAt(treeSize), proveInclusion: (index: number) => tree.proveInclusion(index, treeSize) };
}

const proveInclusion = (inputs: Iterable<Uint8Array>, leafIndex: number): InclusionProof =>
  createInclusionProver(inputs).proveInclusion(leafIndex);

const hex = (text: string) => Buffer.from(text, 'hex');

/** RFC 9162 §2.1.1, transcribed as it is defined: the oracle that nothing of ours shares code with. */
function definedRoot(inputs: readonly Uint8Array[]): Buffer {
  const sha256 = (...parts: Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();
  if (inputs.length === 0) return sha256();
  if (inputs.length === 1) return sha256(Uint8Array.of(0), inputs[0]!);
  let k = 1;
  while (k * 2 < inputs.length) k *= 2;
  return sha256(Uint8Array.of(1), definedRoot(inputs.slice(0, k)), definedRoot(inputs.slice(k)));
}

/** RFC 9162 §2.1.3.1, transcribed as it is defined. */
function definedPath(index: number, inputs: readonly Uint8Array[]): Buffer[] {
  if (inputs.length === 1) return [];
  let k = 1;
  while (k * 2 < inputs.length) k *= 2;
  return index < k
    ? [...definedPath(index, inputs.slice(0, k)), definedRoot(inputs.slice(k))]
    : [...definedPath(index - k, inputs.slice(k)), definedRoot(inputs.slice(0, k))];
}

function headOf(inputs: Iterable<Uint8Array>): { treeSize: number; rootHash: Buffer } {
  const builder = createTreeHeadBuilder();
  for (const input of inputs) builder.append(input);
  return builder.head();
}

// google/certificate-transparency, cpp/merkletree/merkle_tree_test.cc: kInputs, kSHA256Roots, kSHA256Paths (leaves counted from 1 there).
const ctInputs = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'].map(hex);
const ctRoots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
].map(hex);
const ctPaths = [
  { leafIndex: 0, treeSize: 1, path: [] },
  {
    leafIndex: 0,
    treeSize: 8,
    path: [
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ],
  },
  {
    leafIndex: 5,
    treeSize: 8,
    path: [
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ],
  },
  { leafIndex: 2, treeSize: 3, path: ['fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125'] },
  {
    leafIndex: 1,
    treeSize: 5,
    path: [
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    ],
  },
].map(({ path, ...where }) => ({ ...where, path: path.map(hex) }));

const outputs = (count: number, seed = ''): Buffer[] =>
  Array.from({ length: count }, (_, i) => createHash('sha256').update(`${seed}${i}`).digest());

describe('Merkle tree head (W9, RFC 9162 §2.1)', () => {
  it('equals the published roots of Certificate Transparency after each leaf', () => {
    const builder = createTreeHeadBuilder();
    expect(builder.head()).toEqual({ treeSize: 0, rootHash: ctRoots[0] });
    ctInputs.forEach((input, i) => {
      builder.append(input);
      expect(builder.head()).toEqual({ treeSize: i + 1, rootHash: ctRoots[i + 1] });
    });
  });

  it('equals the definition for any leaves, and so does the prover', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 70 }), (inputs) => {
        expect(headOf(inputs).rootHash).toEqual(definedRoot(inputs));
        expect(createInclusionProver(inputs).rootHash).toEqual(definedRoot(inputs));
      }),
    );
  });

  it('does not double an odd node: [A,B,C] and [A,B,C,C] differ', () => {
    const [a, b, c] = outputs(3);
    expect(headOf([a!, b!, c!]).rootHash).not.toEqual(headOf([a!, b!, c!, c!]).rootHash);
  });

  const manyLeaves = tries(100_000, 20_000);

  it(`takes ${manyLeaves} leaves from a stream and agrees with the tree kept whole`, () => {
    function* stream(): Generator<Buffer> {
      const leaf = Buffer.alloc(32);
      for (let i = 0; i < manyLeaves; i += 1) {
        leaf.writeUInt32BE(i);
        yield leaf;
      }
    }
    const prover = createInclusionProver(stream());
    const head = headOf(stream());
    expect(prover).toMatchObject(head);
    const last = Buffer.alloc(32);
    last.writeUInt32BE(manyLeaves - 1);
    expect(verifyInclusion(last, prover.proveInclusion(manyLeaves - 1), head)).toEqual({ ok: true });
  });
});

describe('inclusion proof (RFC 9162 §2.1.3)', () => {
  it.each(ctPaths)('equals the published path of leaf $leafIndex of $treeSize', ({ leafIndex, treeSize, path }) => {
    const inputs = ctInputs.slice(0, treeSize);
    const proof = proveInclusion(inputs, leafIndex);
    expect(proof).toEqual({ leafIndex, treeSize, inclusionPath: path });
    expect(verifyInclusion(inputs[leafIndex]!, proof, { treeSize, rootHash: ctRoots[treeSize]! })).toEqual({ ok: true });
  });

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

  it('has no proof for a leaf that is not there', () => {
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

describe('a verifier must refuse (refusal 48)', () => {
  const inputs = outputs(7);
  const prover = createInclusionProver(inputs);
  const head: TreeHead = { treeSize: 7, rootHash: prover.rootHash };
  const proof = prover.proveInclusion(2);
  const judge = (changed: Partial<InclusionProof>, leaf: Uint8Array = inputs[2]!, against: TreeHead = head) =>
    verifyInclusion(leaf, { ...proof, ...changed }, against);

  it('takes the proof that the others are made from', () => expect(judge({})).toEqual({ ok: true }));

  it('48: a node presented as a leaf', () => {
    const children = Buffer.concat([leafHash(inputs[0]!), leafHash(inputs[1]!)]);
    const pair = headOf(inputs.slice(0, 2));
    // With no prefixes these two would be the same hash.
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

  it('48: a wrong index', () => {
    expect(judge({ leafIndex: 3 })).toEqual({ ok: false, fault: 'root_mismatch' });
    expect(judge({ leafIndex: 6 })).toEqual({ ok: false, fault: 'path_too_long' });
    for (const leafIndex of [7, -1, 2.5, Number.NaN]) expect(judge({ leafIndex })).toEqual({ ok: false, fault: 'leaf_index_out_of_range' });
  });

  it('48: a wrong size, also one whose paths have the same shape', () => {
    for (const treeSize of [0, 1, 2, 5, 6, 8, 14, 7.5, Number.NaN]) {
      expect(judge({ treeSize })).toEqual({ ok: false, fault: 'tree_size_mismatch' });
    }
  });

  it('48: a path that is too long, too short, or holds something that is no hash', () => {
    expect(judge({ inclusionPath: [...proof.inclusionPath, head.rootHash] })).toEqual({ ok: false, fault: 'path_too_long' });
    expect(judge({ inclusionPath: proof.inclusionPath.slice(0, -1) })).toEqual({ ok: false, fault: 'path_too_short' });
    expect(judge({ inclusionPath: [...proof.inclusionPath, Buffer.alloc(0)] })).toEqual({ ok: false, fault: 'hash_malformed' });
    expect(judge({}, inputs[2], { treeSize: 7, rootHash: Buffer.alloc(31) })).toEqual({ ok: false, fault: 'hash_malformed' });
  });

  it("48: another workflow's proof", () => {
    const other = createInclusionProver(outputs(7, 'other'));
    expect(verifyInclusion(outputs(7, 'other')[2]!, other.proveInclusion(2), head)).toEqual({ ok: false, fault: 'root_mismatch' });
    expect(judge({}, inputs[2], other)).toEqual({ ok: false, fault: 'root_mismatch' });
  });

  it('48: any other leaf, index, size, path or root than the one that was proven', () => {
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
