import { hashBytes, leafHash, nodeHash, type TreeHead } from './merkle.ts';

/** RFC 9162 §4.11: where a leaf stands in which tree, and the hashes that lead from it to the root, lowest first. */
export interface InclusionProof {
  readonly treeSize: number;
  /** Zero-based; output number n is leaf n − 1. */
  readonly leafIndex: number;
  readonly inclusionPath: readonly Uint8Array[];
}

/** RFC 9162 §4.12: that the first leaves of a tree are those of a smaller one. */
export interface ConsistencyProof {
  readonly firstSize: number;
  readonly secondSize: number;
  readonly consistencyPath: readonly Uint8Array[];
}

export const isIndexIn = (index: number, treeSize: number): boolean =>
  Number.isSafeInteger(treeSize) && Number.isSafeInteger(index) && index >= 0 && index < treeSize;

/** Why a proof does not prove (refusal 48). */
export type ProofFault =
  | 'tree_size_mismatch'
  | 'leaf_index_out_of_range'
  | 'hash_malformed'
  | 'path_too_short'
  | 'path_too_long'
  | 'root_mismatch';

export type ProofVerdict = { readonly ok: true } | { readonly ok: false; readonly fault: ProofFault };

const refuse = (fault: ProofFault): ProofVerdict => ({ ok: false, fault });

const areHashes = (nodes: readonly Uint8Array[]): boolean => nodes.every((node) => node.length === hashBytes);

// Divided, not shifted: JavaScript shifts 32 bits only.
const half = (value: number): number => Math.floor(value / 2);
const isOdd = (value: number): boolean => value % 2 === 1;

/**
 * Verifies that a leaf input is in the tree of `head`, at the place that the proof names (RFC 9162 §2.1.3.2).
 *
 * A root alone does not say how many leaves it covers: several sizes can share the shape of one path. Therefore the size comes
 * with the trusted head, and a proof that names another one is refused. Never throws, whatever the proof holds.
 */
export function verifyInclusion(leafInput: Uint8Array, proof: InclusionProof, head: TreeHead): ProofVerdict {
  const { treeSize, leafIndex, inclusionPath } = proof;
  if (treeSize !== head.treeSize) return refuse('tree_size_mismatch');
  if (!isIndexIn(leafIndex, treeSize)) return refuse('leaf_index_out_of_range');
  if (!areHashes([head.rootHash, ...inclusionPath])) return refuse('hash_malformed');

  let index = leafIndex;
  let last = treeSize - 1;
  let node = leafHash(leafInput);
  for (const sibling of inclusionPath) {
    if (last === 0) return refuse('path_too_long');
    if (isOdd(index) || index === last) {
      node = nodeHash(sibling, node);
      while (!isOdd(index) && index !== 0) {
        index = half(index);
        last = half(last);
      }
    } else {
      node = nodeHash(node, sibling);
    }
    index = half(index);
    last = half(last);
  }
  if (last !== 0) return refuse('path_too_short');
  return node.equals(head.rootHash) ? { ok: true } : refuse('root_mismatch');
}

/**
 * Verifies that the tree of `second` begins with the leaves of the tree of `first` (RFC 9162 §2.1.4.2): what was shown before is still
 * there, in the same order. Both heads, with their sizes, come from where they are trusted. Never throws, whatever the proof holds.
 */
export function verifyConsistency(proof: ConsistencyProof, first: TreeHead, second: TreeHead): ProofVerdict {
  const { firstSize, secondSize, consistencyPath } = proof;
  if (firstSize !== first.treeSize || secondSize !== second.treeSize) return refuse('tree_size_mismatch');
  if (!isIndexIn(first.treeSize - 1, second.treeSize)) return refuse('tree_size_mismatch');
  if (!areHashes([first.rootHash, second.rootHash, ...consistencyPath])) return refuse('hash_malformed');
  const firstRoot: Buffer = Buffer.from(first.rootHash);
  if (first.treeSize === second.treeSize) {
    if (consistencyPath.length > 0) return refuse('path_too_long');
    return firstRoot.equals(second.rootHash) ? { ok: true } : refuse('root_mismatch');
  }

  let index = first.treeSize - 1;
  let last = second.treeSize - 1;
  while (isOdd(index)) {
    index = half(index);
    last = half(last);
  }
  // A first tree that is perfect is a node of the second: the path leaves it out, as it is known.
  const [start, ...rest] = index === 0 ? [firstRoot, ...consistencyPath] : consistencyPath;
  if (start === undefined) return refuse('path_too_short');
  let ofFirst: Buffer = Buffer.from(start);
  let ofSecond = ofFirst;
  for (const node of rest) {
    if (last === 0) return refuse('path_too_long');
    if (isOdd(index) || index === last) {
      ofFirst = nodeHash(node, ofFirst);
      ofSecond = nodeHash(node, ofSecond);
      while (!isOdd(index) && index !== 0) {
        index = half(index);
        last = half(last);
      }
    } else {
      ofSecond = nodeHash(ofSecond, node);
    }
    index = half(index);
    last = half(last);
  }
  if (last !== 0) return refuse('path_too_short');
  return ofFirst.equals(firstRoot) && ofSecond.equals(second.rootHash) ? { ok: true } : refuse('root_mismatch');
}
