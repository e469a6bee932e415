// @ts-check
// The Merkle tree of RFC 9162 §2.1 over SHA-256 (W9). Leaf inputs are the octets of the output hashes in order. Leaves and nodes are hashed under
// different prefixes, so that one cannot be used as the other. A last node without a partner moves up unchanged instead of being doubled.
import { isSame } from './octets.js';

export const hashBytes = 32;

/**
 * The size and the root of a tree from a trusted source; proofs are checked against it (RFC 9162 §4.10).
 *
 * @typedef {object} TreeHead
 * @property {number} treeSize
 * @property {Uint8Array} rootHash 32 octets
 */

/**
 * The position of a leaf in a tree, and the hashes from the leaf to the root, lowest first (RFC 9162 §4.11).
 *
 * @typedef {object} InclusionProof
 * @property {number} treeSize
 * @property {number} leafIndex zero-based: output number n is leaf n − 1
 * @property {readonly Uint8Array[]} inclusionPath
 */

/**
 * Proves that a tree begins with the leaves of a smaller one (RFC 9162 §4.12).
 *
 * @typedef {object} ConsistencyProof
 * @property {number} firstSize
 * @property {number} secondSize
 * @property {readonly Uint8Array[]} consistencyPath
 */

/** @typedef {ReturnType<typeof createMerkle>} Merkle */
/** @typedef {ReturnType<Merkle['createMerkleTree']>} MerkleTree */

/** @param {number} index @param {number} treeSize */
export const isIndexIn = (index, treeSize) =>
  Number.isSafeInteger(treeSize) && Number.isSafeInteger(index) && index >= 0 && index < treeSize;

/** RFC 9162 §2.1.1: the largest power of two smaller than the number of leaves, which is at least two. @param {number} leaves */
export function splitOf(leaves) {
  let split = 1;
  while (split * 2 < leaves) split *= 2;
  return split;
}

/** Trees over a SHA-256. @param {import('./octets.js').HashFunction} sha256 */
export function createMerkle(sha256) {
  // One buffer serves all leaves of 32 octets, and one all nodes, so that a large tree does not produce garbage.
  const hashInput = new Uint8Array(1 + hashBytes);
  const nodeInput = new Uint8Array(1 + 2 * hashBytes).fill(1);

  /** RFC 9162 §2.1.1: `MTH({d[0]}) = HASH(0x00 || d[0])`. @param {Uint8Array} leafInput */
  function leafHash(leafInput) {
    const input = leafInput.length === hashBytes ? hashInput : new Uint8Array(1 + leafInput.length);
    input.set(leafInput, 1);
    return sha256(input);
  }

  /** RFC 9162 §2.1.1: `HASH(0x01 || left || right)`. @param {Uint8Array} left @param {Uint8Array} right */
  function nodeHash(left, right) {
    nodeInput.set(left, 1);
    nodeInput.set(right, 1 + hashBytes);
    return sha256(nodeInput);
  }

  const emptyRoot = () => sha256(new Uint8Array());

  /**
   * Computes a tree head leaf by leaf (RFC 9162 §2.1.2). It keeps one hash for each level: twenty for a million leaves. No leaves give the SHA-256 of
   * the empty string.
   */
  function createTreeHeadBuilder() {
    /** The roots of the perfect subtrees over the leaves, largest first: one for each bit set in `treeSize`. @type {Uint8Array[]} */
    const subtrees = [];
    let treeSize = 0;
    return {
      /** @param {Uint8Array} leafInput */
      append(leafInput) {
        let node = leafHash(leafInput);
        for (let rest = treeSize; rest % 2 === 1; rest = (rest - 1) / 2) node = nodeHash(/** @type {Uint8Array} */ (subtrees.pop()), node);
        subtrees.push(node);
        treeSize += 1;
      },
      /** The head over all leaves so far; more may follow. @returns {TreeHead} */
      head: () => ({
        treeSize,
        rootHash: subtrees.length === 0 ? emptyRoot() : subtrees.reduceRight((right, left) => nodeHash(left, right)),
      }),
    };
  }

  /**
   * A growing tree that can make proofs for every size that it had. It keeps the node of every perfect subtree, 64 octets per leaf, so that nothing is
   * hashed twice: a root or a proof needs a few hashes per level.
   */
  function createMerkleTree() {
    /** The nodes of each height, in buffers that double. @type {{ nodes: Uint8Array, count: number }[]} */
    const levels = [];
    const treeSize = () => levels[0]?.count ?? 0;
    /** @param {number} height */
    const levelAt = (height) => /** @type {{ nodes: Uint8Array, count: number }} */ (levels[height]);

    /** @param {number} height @param {Uint8Array} node */
    function push(height, node) {
      levels[height] ??= { nodes: new Uint8Array(16 * hashBytes), count: 0 };
      const level = levels[height];
      if (level.count * hashBytes === level.nodes.length) {
        const larger = new Uint8Array(2 * level.nodes.length);
        larger.set(level.nodes);
        level.nodes = larger;
      }
      level.nodes.set(node, level.count * hashBytes);
      level.count += 1;
    }

    /** A view: the caller gets copies. @param {number} height @param {number} index */
    const nodeAt = (height, index) => levelAt(height).nodes.subarray(index * hashBytes, (index + 1) * hashBytes);

    /**
     * The tree hash of the leaves from `start` on. Perfect subtrees are already computed, since every split starts at a multiple of its size.
     * @param {number} start @param {number} leaves @returns {Uint8Array}
     */
    function hashOf(start, leaves) {
      const height = Math.log2(leaves);
      if (Number.isInteger(height)) return nodeAt(height, start / leaves).slice();
      const split = splitOf(leaves);
      return nodeHash(hashOf(start, split), hashOf(start + split, leaves - split));
    }

    /** @param {number} index @param {number} start @param {number} leaves @returns {Uint8Array[]} */
    function pathOf(index, start, leaves) {
      if (leaves === 1) return [];
      const split = splitOf(leaves);
      return index < split
        ? [...pathOf(index, start, split), hashOf(start + split, leaves - split)]
        : [...pathOf(index - split, start + split, leaves - split), hashOf(start, split)];
    }

    /**
     * SUBPROOF of RFC 9162 §2.1.4.1; `isKnown`: the verifier knows the hash of this subtree, because it is the first root. @param {number} first
     * @param {number} start @param {number} leaves @param {boolean} isKnown @returns {Uint8Array[]}
     */
    function subproofOf(first, start, leaves, isKnown) {
      if (first === leaves) return isKnown ? [] : [hashOf(start, leaves)];
      const split = splitOf(leaves);
      return first <= split
        ? [...subproofOf(first, start, split, isKnown), hashOf(start + split, leaves - split)]
        : [...subproofOf(first - split, start + split, leaves - split, false), hashOf(start, split)];
    }

    /** @param {number} size */
    function checkSize(size) {
      if (!isIndexIn(size, treeSize() + 1)) throw new RangeError(`no tree of ${size} in one of ${treeSize()}`);
    }

    return {
      get treeSize() {
        return treeSize();
      },
      /** The memory of its nodes. */
      get bytes() {
        return levels.reduce((sum, { nodes }) => sum + nodes.length, 0);
      },
      /** @param {Uint8Array} leafInput */
      append(leafInput) {
        let node = leafHash(leafInput);
        push(0, node);
        for (let height = 0; levelAt(height).count % 2 === 0; height += 1) {
          node = nodeHash(nodeAt(height, levelAt(height).count - 2), node);
          push(height + 1, node);
        }
      },
      /** The root when the tree had this many leaves. @param {number} size @throws {RangeError} if it never had */
      rootAt(size) {
        checkSize(size);
        return size === 0 ? emptyRoot() : hashOf(0, size);
      },
      /** RFC 9162 §2.1.3.1. @param {number} leafIndex @param {number} size @returns {InclusionProof} @throws {RangeError} no such leaf, or no such size */
      proveInclusion(leafIndex, size) {
        checkSize(size);
        if (!isIndexIn(leafIndex, size)) throw new RangeError(`no leaf ${leafIndex} in a tree of ${size}`);
        return { treeSize: size, leafIndex, inclusionPath: pathOf(leafIndex, 0, size) };
      },
      /**
       * RFC 9162 §2.1.4.1; the first tree has at least one leaf. @param {number} firstSize @param {number} secondSize @returns {ConsistencyProof}
       * @throws {RangeError} no such sizes
       */
      proveConsistency(firstSize, secondSize) {
        checkSize(secondSize);
        if (!isIndexIn(firstSize - 1, secondSize)) throw new RangeError(`no tree of ${firstSize} in one of ${secondSize}`);
        return { firstSize, secondSize, consistencyPath: subproofOf(firstSize, 0, secondSize, true) };
      },
      /** The positions of the leaves with this input, at most `most`. @param {Uint8Array} leafInput @param {number} most */
      indexesOf(leafInput, most) {
        const leaf = leafHash(leafInput);
        /** @type {number[]} */
        const found = [];
        for (let index = 0; index < treeSize() && found.length < most; index += 1) if (isSame(nodeAt(0, index), leaf)) found.push(index);
        return found;
      },
    };
  }

  return { leafHash, nodeHash, createTreeHeadBuilder, createMerkleTree };
}
