import { createHash } from 'node:crypto';
import { sha256 } from '@noble/hashes/sha2.js';
import { createProofVerifier } from '../../src/shared/proof/merkle-proof.js';
import { createMerkle, type InclusionProof, type TreeHead } from '../../src/shared/proof/merkle-tree.js';

/** Merkle trees by the definition of RFC 9162, and published ones. */

/** With the SHA-256 of the browser, so that the definition, which uses `node:crypto`, shares nothing with them. */
const merkle = createMerkle(sha256);
export const { leafHash, createMerkleTree, createTreeHeadBuilder } = merkle;
export const { verifyInclusion, verifyConsistency } = createProofVerifier(merkle);

/** A tree with only its last size. */
export function createInclusionProver(inputs: Iterable<Uint8Array>) {
  const tree = createMerkleTree();
  for (const input of inputs) tree.append(input);
  const { treeSize } = tree;
  return { treeSize, rootHash: tree.rootAt(treeSize), proveInclusion: (index: number) => tree.proveInclusion(index, treeSize) };
}

export const proveInclusion = (inputs: Iterable<Uint8Array>, leafIndex: number): InclusionProof =>
  createInclusionProver(inputs).proveInclusion(leafIndex);

const hex = (text: string) => Uint8Array.from(Buffer.from(text, 'hex'));

/** RFC 9162 §2.1.1, copied from its definition: an oracle that shares no code with ours. */
export function definedRoot(inputs: readonly Uint8Array[]): Uint8Array {
  const hash = (...parts: Uint8Array[]) => Uint8Array.from(createHash('sha256').update(Buffer.concat(parts)).digest());
  if (inputs.length === 0) return hash();
  if (inputs.length === 1) return hash(Uint8Array.of(0), inputs[0]!);
  let k = 1;
  while (k * 2 < inputs.length) k *= 2;
  return hash(Uint8Array.of(1), definedRoot(inputs.slice(0, k)), definedRoot(inputs.slice(k)));
}

/** RFC 9162 §2.1.3.1, copied from its definition. */
export function definedPath(index: number, inputs: readonly Uint8Array[]): Uint8Array[] {
  if (inputs.length === 1) return [];
  let k = 1;
  while (k * 2 < inputs.length) k *= 2;
  return index < k
    ? [...definedPath(index, inputs.slice(0, k)), definedRoot(inputs.slice(k))]
    : [...definedPath(index - k, inputs.slice(k)), definedRoot(inputs.slice(0, k))];
}

export function headOf(inputs: Iterable<Uint8Array>): TreeHead {
  const builder = createTreeHeadBuilder();
  for (const input of inputs) builder.append(input);
  return builder.head();
}

// google/certificate-transparency, cpp/merkletree/merkle_tree_test.cc: kInputs, kSHA256Roots.
export const ctInputs = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'].map(hex);
export const ctRoots = [
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
export const outputs = (count: number, seed = ''): Buffer[] =>
  Array.from({ length: count }, (_, i) => createHash('sha256').update(`${seed}${i}`).digest());
