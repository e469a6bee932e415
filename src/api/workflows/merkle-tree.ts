import { createTreeHeadBuilder, hashBytes, leafHash, nodeHash } from '../../shared/domain/merkle.ts';
import { type ConsistencyProof, type InclusionProof, isIndexIn } from '../../shared/domain/merkle-proof.ts';

/**
 * A Merkle tree (RFC 9162 §2.1) that grows, and proves about every size that it ever had. It keeps the node of every perfect subtree, 64
 * bytes a leaf, so that nothing is hashed twice: a root or a proof costs some hashes for each level.
 */
export interface MerkleTree {
  readonly treeSize: number;
  /** What its nodes take of memory. */
  readonly bytes: number;
  append(leafInput: Uint8Array): void;
  /** The root when the tree had that many leaves. @throws RangeError it never had */
  rootAt(treeSize: number): Buffer;
  /** RFC 9162 §2.1.3.1. @throws RangeError no such leaf, or no such size */
  proveInclusion(leafIndex: number, treeSize: number): InclusionProof & { readonly inclusionPath: readonly Buffer[] };
  /** RFC 9162 §2.1.4.1; the first tree has a leaf or more. @throws RangeError no such sizes */
  proveConsistency(firstSize: number, secondSize: number): ConsistencyProof & { readonly consistencyPath: readonly Buffer[] };
}

/** The nodes of one height, in a buffer that doubles. */
interface Level {
  nodes: Buffer;
  count: number;
}

/** RFC 9162 §2.1.1: the largest power of two smaller than a number of leaves, which is two or more. */
export function splitOf(leaves: number): number {
  let split = 1;
  while (split * 2 < leaves) split *= 2;
  return split;
}

export function createMerkleTree(): MerkleTree {
  const levels: Level[] = [];
  const treeSize = (): number => levels[0]?.count ?? 0;

  function push(height: number, node: Buffer): void {
    const level = levels[height] ?? { nodes: Buffer.alloc(16 * hashBytes), count: 0 };
    levels[height] = level;
    if (level.count * hashBytes === level.nodes.length) level.nodes = Buffer.concat([level.nodes, Buffer.alloc(level.nodes.length)]);
    node.copy(level.nodes, level.count * hashBytes);
    level.count += 1;
  }

  const nodeAt = (height: number, index: number): Buffer =>
    Buffer.from(levels[height]!.nodes.subarray(index * hashBytes, (index + 1) * hashBytes));

  /** The tree hash of the leaves from `start` on; perfect subtrees are at hand, since every split starts at a multiple of its size. */
  function hashOf(start: number, leaves: number): Buffer {
    const height = Math.log2(leaves);
    if (Number.isInteger(height)) return nodeAt(height, start / leaves);
    const split = splitOf(leaves);
    return nodeHash(hashOf(start, split), hashOf(start + split, leaves - split));
  }

  function pathOf(index: number, start: number, leaves: number): Buffer[] {
    if (leaves === 1) return [];
    const split = splitOf(leaves);
    return index < split
      ? [...pathOf(index, start, split), hashOf(start + split, leaves - split)]
      : [...pathOf(index - split, start + split, leaves - split), hashOf(start, split)];
  }

  /** SUBPROOF of RFC 9162 §2.1.4.1; `isKnown`: the verifier knows the hash of this subtree, as it is the first root. */
  function subproofOf(first: number, start: number, leaves: number, isKnown: boolean): Buffer[] {
    if (first === leaves) return isKnown ? [] : [hashOf(start, leaves)];
    const split = splitOf(leaves);
    return first <= split
      ? [...subproofOf(first, start, split, isKnown), hashOf(start + split, leaves - split)]
      : [...subproofOf(first - split, start + split, leaves - split, false), hashOf(start, split)];
  }

  function checkSize(size: number): void {
    if (!isIndexIn(size, treeSize() + 1)) throw new RangeError(`no tree of ${size} in one of ${treeSize()}`);
  }

  return {
    get treeSize() {
      return treeSize();
    },
    get bytes() {
      return levels.reduce((sum, { nodes }) => sum + nodes.length, 0);
    },
    append(leafInput) {
      let node = leafHash(leafInput);
      push(0, node);
      for (let height = 0; levels[height]!.count % 2 === 0; height += 1) {
        node = nodeHash(nodeAt(height, levels[height]!.count - 2), node);
        push(height + 1, node);
      }
    },
    rootAt(size) {
      checkSize(size);
      return size === 0 ? createTreeHeadBuilder().head().rootHash : hashOf(0, size);
    },
    proveInclusion(leafIndex, size) {
      checkSize(size);
      if (!isIndexIn(leafIndex, size)) throw new RangeError(`no leaf ${leafIndex} in a tree of ${size}`);
      return { treeSize: size, leafIndex, inclusionPath: pathOf(leafIndex, 0, size) };
    },
    proveConsistency(firstSize, secondSize) {
      checkSize(secondSize);
      if (!isIndexIn(firstSize - 1, secondSize)) throw new RangeError(`no tree of ${firstSize} in one of ${secondSize}`);
      return { firstSize, secondSize, consistencyPath: subproofOf(firstSize, 0, secondSize, true) };
    },
  };
}
