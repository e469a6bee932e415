// @ts-check
import { isSame } from './hex.js';
import { sha256 } from './sha256.js';

const hashBytes = 32;

/** RFC 9162 §2.1.1: `HASH(0x00 || d[0])`. @param {Uint8Array} leafInput */
export function leafHash(leafInput) {
  const input = new Uint8Array(1 + hashBytes);
  input.set(leafInput, 1);
  return sha256(input);
}

/** RFC 9162 §2.1.1: `HASH(0x01 || left || right)`. @param {Uint8Array} left @param {Uint8Array} right */
function nodeHash(left, right) {
  const input = new Uint8Array(1 + 2 * hashBytes);
  input[0] = 1;
  input.set(left, 1);
  input.set(right, 1 + hashBytes);
  return sha256(input);
}

/** The largest power of two smaller than a number of leaves, which is two or more. @param {number} leaves */
const splitOf = (leaves) => 2 ** Math.ceil(Math.log2(leaves) - 1);

/** @typedef {ReturnType<typeof createMerkleTree>} MerkleTree */

/** The Merkle tree of RFC 9162 §2.1 over SHA-256, leaf by leaf. It keeps the node of every perfect subtree, 64 bytes a leaf. */
export function createMerkleTree() {
  /** The nodes of each height, in buffers that double. @type {{ nodes: Uint8Array, count: number }[]} */
  const levels = [];
  const size = () => levels[0]?.count ?? 0;

  /** @param {number} height @param {Uint8Array} node */
  function push(height, node) {
    levels[height] ??= { nodes: new Uint8Array(64 * hashBytes), count: 0 };
    const level = levels[height];
    if (level.count * hashBytes === level.nodes.length) {
      const larger = new Uint8Array(2 * level.nodes.length);
      larger.set(level.nodes);
      level.nodes = larger;
    }
    level.nodes.set(node, level.count * hashBytes);
    level.count += 1;
  }

  /** @param {number} height @param {number} index */
  const nodeAt = (height, index) => levels[height].nodes.subarray(index * hashBytes, (index + 1) * hashBytes);

  /** The tree hash of the leaves from `start` on: perfect subtrees are at hand, and every split starts at a multiple of its size. @param {number} start @param {number} leaves @returns {Uint8Array} */
  function hashOf(start, leaves) {
    const height = Math.log2(leaves);
    if (Number.isInteger(height)) return nodeAt(height, start / leaves);
    const split = splitOf(leaves);
    return nodeHash(hashOf(start, split), hashOf(start + split, leaves - split));
  }

  /** @param {number} index @param {number} start @param {number} leaves @returns {Uint8Array[]} */
  function pathWithin(index, start, leaves) {
    if (leaves === 1) return [];
    const split = splitOf(leaves);
    return index < split
      ? [...pathWithin(index, start, split), hashOf(start + split, leaves - split)]
      : [...pathWithin(index - split, start + split, leaves - split), hashOf(start, split)];
  }

  return {
    /** @param {Uint8Array} leafInput */
    append(leafInput) {
      push(0, leafHash(leafInput));
      for (let height = 0; levels[height].count % 2 === 0; height += 1) {
        const { count } = levels[height];
        push(height + 1, nodeHash(nodeAt(height, count - 2), nodeAt(height, count - 1)));
      }
    },
    /** Of no leaves: the SHA-256 of the empty string. */
    root: () => (size() === 0 ? sha256(new Uint8Array()) : hashOf(0, size())),
    /** The hashes from a leaf to the root, lowest first (RFC 9162 §2.1.3.1). @param {number} leafIndex */
    pathOf: (leafIndex) => pathWithin(leafIndex, 0, size()),
    /** Where a leaf stands, the first of all places. @param {Uint8Array} leafInput @param {number} most */
    indexesOf(leafInput, most) {
      const leaf = leafHash(leafInput);
      const found = [];
      for (let index = 0; index < size() && found.length < most; index += 1) {
        if (levels[0].nodes[index * hashBytes] === leaf[0] && isSame(nodeAt(0, index), leaf)) found.push(index);
      }
      return found;
    },
    get size() {
      return size();
    },
  };
}

/**
 * The root that a path leads to from a leaf (RFC 9162 §2.1.3.2); undefined where the path has another length than the place of the leaf wants.
 *
 * @param {Uint8Array} leafInput
 * @param {number} leafIndex
 * @param {number} size of the tree
 * @param {Uint8Array[]} path
 */
export function rootOfPath(leafInput, leafIndex, size, path) {
  let index = leafIndex;
  let last = size - 1;
  let node = leafHash(leafInput);
  for (const sibling of path) {
    if (last === 0) return undefined;
    if (index % 2 === 1 || index === last) {
      node = nodeHash(sibling, node);
      for (; index % 2 === 0 && index !== 0; index /= 2) last = Math.floor(last / 2);
    } else {
      node = nodeHash(node, sibling);
    }
    index = Math.floor(index / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? node : undefined;
}
