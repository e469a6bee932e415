// @ts-check
// Verifies proofs about a Merkle tree (RFC 9162 §2.1.3.2, §2.1.4.2).
import { hashBytes, isIndexIn } from './merkle-tree.js';
import { isSame } from './octets.js';

/** @typedef {import('./merkle-tree.js').TreeHead} TreeHead */

/**
 * Why a proof is refused (refusal 48).
 *
 * @typedef {'tree_size_mismatch' | 'leaf_index_out_of_range' | 'hash_malformed' | 'path_too_short' | 'path_too_long' | 'root_mismatch'} ProofFault
 */
/** @typedef {{ readonly ok: true } | { readonly ok: false, readonly fault: ProofFault }} ProofVerdict */

/** @param {ProofFault} fault @returns {ProofVerdict} */
const refuse = (fault) => ({ ok: false, fault });

/** @param {readonly Uint8Array[]} nodes */
const areHashes = (nodes) => nodes.every((node) => node.length === hashBytes);

// Numbers are divided and not shifted, because JavaScript shifts only 32 bits.
/** @param {number} value */
const half = (value) => Math.floor(value / 2);
/** @param {number} value */
const isOdd = (value) => value % 2 === 1;

/** @param {Pick<import('./merkle-tree.js').Merkle, 'leafHash' | 'nodeHash'>} merkle */
export function createProofVerifier({ leafHash, nodeHash }) {
  /**
   * Verifies that a leaf input is in the tree of `head`, at the position in the proof (RFC 9162 §2.1.3.2).
   *
   * A root alone does not show how many leaves it covers: trees of several sizes can have paths of the same shape. So the size comes with the
   * trusted head, and a proof with another size is refused. Never throws, whatever the proof contains.
   *
   * @param {Uint8Array} leafInput
   * @param {import('./merkle-tree.js').InclusionProof} proof
   * @param {TreeHead} head
   * @returns {ProofVerdict}
   */
  function verifyInclusion(leafInput, { treeSize, leafIndex, inclusionPath }, head) {
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
    return isSame(node, head.rootHash) ? { ok: true } : refuse('root_mismatch');
  }

  /**
   * Verifies that the tree of `second` begins with all leaves of the tree of `first`, in the same order (RFC 9162 §2.1.4.2). Both heads, with their
   * sizes, come from a trusted source. Never throws, whatever the proof contains.
   *
   * @param {import('./merkle-tree.js').ConsistencyProof} proof
   * @param {TreeHead} first
   * @param {TreeHead} second
   * @returns {ProofVerdict}
   */
  function verifyConsistency({ firstSize, secondSize, consistencyPath }, first, second) {
    if (firstSize !== first.treeSize || secondSize !== second.treeSize) return refuse('tree_size_mismatch');
    if (!isIndexIn(first.treeSize - 1, second.treeSize)) return refuse('tree_size_mismatch');
    if (!areHashes([first.rootHash, second.rootHash, ...consistencyPath])) return refuse('hash_malformed');
    if (first.treeSize === second.treeSize) {
      if (consistencyPath.length > 0) return refuse('path_too_long');
      return isSame(first.rootHash, second.rootHash) ? { ok: true } : refuse('root_mismatch');
    }

    let index = first.treeSize - 1;
    let last = second.treeSize - 1;
    while (isOdd(index)) {
      index = half(index);
      last = half(last);
    }
    // If the first tree is perfect, its root is a node of the second tree. The path omits this node, because its hash is known.
    const [start, ...rest] = index === 0 ? [first.rootHash, ...consistencyPath] : consistencyPath;
    if (start === undefined) return refuse('path_too_short');
    let ofFirst = start;
    let ofSecond = start;
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
    return isSame(ofFirst, first.rootHash) && isSame(ofSecond, second.rootHash) ? { ok: true } : refuse('root_mismatch');
  }

  return { verifyInclusion, verifyConsistency };
}
