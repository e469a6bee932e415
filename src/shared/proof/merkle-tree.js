// @ts-check
// The Merkle tree of RFC 9162 §2.1 with SHA-256 (W9). The leaf inputs are the octets of the output hashes, in order. Leaves and nodes are hashed with
// different prefixes, so a leaf cannot be presented as a node. If the last node of a level has no sibling, it moves up unchanged.
import { isSame } from './octets.js';

export const hashBytes = 32;

/**
 * The size and the root of a tree (RFC 9162 §4.10). They come from a trusted source, and proofs are checked against them.
 *
 * @typedef {object} TreeHead
 * @property {number} treeSize
 * @property {Uint8Array} rootHash 32 octets
 */

/**
 * The position of a leaf in a tree, and its path: the sibling hashes from the leaf up to the root (RFC 9162 §4.11).
 *
 * @typedef {object} InclusionProof
 * @property {number} treeSize
 * @property {number} leafIndex zero-based: output number n is leaf n − 1
 * @property {readonly Uint8Array[]} inclusionPath
 */

/**
 * Proves that a tree begins with all leaves of a smaller tree (RFC 9162 §4.12).
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

/** Returns the largest power of two that is smaller than the number of leaves (RFC 9162 §2.1.1). @param {number} leaves at least two */
export function splitOf(leaves) {
  let split = 1;
  while (split * 2 < leaves) split *= 2;
  return split;
}

/** Makes the functions for Merkle trees. @param {import('./octets.js').HashFunction} sha256 */
export function createMerkle(sha256) {
  // All leaves of 32 octets use the first buffer, and all nodes use the second, so that a large tree does not produce garbage.
  const hashInput = new Uint8Array(1 + hashBytes);
  const nodeInput = new Uint8Array(1 + 2 * hashBytes).fill(1);

  /** Returns the hash of a leaf, `HASH(0x00 || d[0])` in RFC 9162 §2.1.1. @param {Uint8Array} leafInput */
  function leafHash(leafInput) {
    const input = leafInput.length === hashBytes ? hashInput : new Uint8Array(1 + leafInput.length);
    input.set(leafInput, 1);
    return sha256(input);
  }

  /** Returns the hash of a node, `HASH(0x01 || left || right)` in RFC 9162 §2.1.1. @param {Uint8Array} left @param {Uint8Array} right */
  function nodeHash(left, right) {
    nodeInput.set(left, 1);
    nodeInput.set(right, 1 + hashBytes);
    return sha256(nodeInput);
  }

  const emptyRoot = () => sha256(new Uint8Array());

  /**
   * Computes a tree head leaf by leaf (RFC 9162 §2.1.2). It keeps at most one hash for each level: twenty for a million leaves. The root of a tree
   * without leaves is the SHA-256 of the empty string.
   */
  function createTreeHeadBuilder() {
    /** The roots of the perfect subtrees over the leaves, largest subtree first. @type {Uint8Array[]} */
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
      /** Returns the head over all leaves so far. More leaves may follow. @returns {TreeHead} */
      head: () => ({
        treeSize,
        rootHash: subtrees.length === 0 ? emptyRoot() : subtrees.reduceRight((right, left) => nodeHash(left, right)),
      }),
    };
  }

  /**
   * Makes a growing tree that can make proofs for every size that it had. It keeps the root of every perfect subtree, 64 octets for each leaf. So a
   * root or a proof needs only a few hashes for each level.
   */
  function createMerkleTree() {
    /** The nodes of each height. If a buffer is full, it is replaced by a buffer of twice the size. @type {{ nodes: Uint8Array, count: number }[]} */
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

    /** Returns a view of a node in its buffer. Callers outside get copies. @param {number} height @param {number} index */
    const nodeAt = (height, index) => levelAt(height).nodes.subarray(index * hashBytes, (index + 1) * hashBytes);

    /**
     * Returns the tree hash of `leaves` leaves from `start` on. Every perfect subtree starts at a multiple of its size, so its hash is stored.
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
     * SUBPROOF of RFC 9162 §2.1.4.1. `isKnown`: the verifier knows the hash of this subtree, because it is the root of the first tree.
     * @param {number} first @param {number} start @param {number} leaves @param {boolean} isKnown @returns {Uint8Array[]}
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
      /** The size of the buffers for nodes, in bytes. */
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
      /** Returns the root that the tree had when it had `size` leaves. @param {number} size @throws {RangeError} if the tree has fewer leaves */
      rootAt(size) {
        checkSize(size);
        return size === 0 ? emptyRoot() : hashOf(0, size);
      },
      /** Makes an inclusion proof (RFC 9162 §2.1.3.1). @param {number} leafIndex @param {number} size @returns {InclusionProof} @throws {RangeError} */
      proveInclusion(leafIndex, size) {
        checkSize(size);
        if (!isIndexIn(leafIndex, size)) throw new RangeError(`no leaf ${leafIndex} in a tree of ${size}`);
        return { treeSize: size, leafIndex, inclusionPath: pathOf(leafIndex, 0, size) };
      },
      /**
       * Makes a consistency proof (RFC 9162 §2.1.4.1). @param {number} firstSize at least 1 @param {number} secondSize @returns {ConsistencyProof}
       * @throws {RangeError} if the tree never had these sizes
       */
      proveConsistency(firstSize, secondSize) {
        checkSize(secondSize);
        if (!isIndexIn(firstSize - 1, secondSize)) throw new RangeError(`no tree of ${firstSize} in one of ${secondSize}`);
        return { firstSize, secondSize, consistencyPath: subproofOf(firstSize, 0, secondSize, true) };
      },
      /** Returns the indexes of the leaves with this input, at most `most` of them. @param {Uint8Array} leafInput @param {number} most */
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
