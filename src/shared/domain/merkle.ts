import { hash } from 'node:crypto';

/**
 * The Merkle tree of RFC 9162 §2.1 over SHA-256 (W9). Leaf inputs are the raw bytes of the output hashes in their order; leaves
 * and nodes are hashed under different prefixes, so that neither can be taken for the other, and a last node without a partner
 * rises unchanged instead of being doubled.
 */
export const hashBytes = 32;
const leafPrefix = Uint8Array.of(0);

const sha256 = (...parts: readonly Uint8Array[]): Buffer => hash('sha256', Buffer.concat(parts), 'buffer');

/** RFC 9162 §2.1.1: `MTH({d[0]}) = HASH(0x00 || d[0])`. */
export const leafHash = (leafInput: Uint8Array): Buffer => sha256(leafPrefix, leafInput);

/** The input of a node hash. One buffer serves all nodes, so that a large tree leaves no garbage. */
const nodeInput = Buffer.alloc(1 + 2 * hashBytes, 1);

/** RFC 9162 §2.1.1: `HASH(0x01 || left || right)`. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  nodeInput.set(left, 1);
  nodeInput.set(right, 1 + hashBytes);
  return hash('sha256', nodeInput, 'buffer');
}

/** What a proof is judged against: the size and the root of a tree, known from a source that is trusted (RFC 9162 §4.10). */
export interface TreeHead {
  readonly treeSize: number;
  /** 32 bytes. */
  readonly rootHash: Uint8Array;
}

export interface TreeHeadBuilder {
  append(leafInput: Uint8Array): void;
  /** The head over what was appended so far; more may be appended afterwards. */
  head(): { treeSize: number; rootHash: Buffer };
}

/**
 * Computes a Merkle tree head leaf by leaf (RFC 9162 §2.1.2). It keeps one hash for each level: twenty for a million leaves. No leaves
 * give the SHA-256 of the empty string.
 */
export function createTreeHeadBuilder(): TreeHeadBuilder {
  /** The roots of the perfect subtrees that the leaves make up, largest first: one for each bit that is set in `treeSize`. */
  const subtrees: Buffer[] = [];
  let treeSize = 0;
  return {
    append(leafInput) {
      let node = leafHash(leafInput);
      for (let rest = treeSize; rest % 2 === 1; rest = (rest - 1) / 2) node = nodeHash(subtrees.pop()!, node);
      subtrees.push(node);
      treeSize += 1;
    },
    head: () => ({
      treeSize,
      rootHash: subtrees.length === 0 ? sha256() : subtrees.reduceRight((right, left) => nodeHash(left, right)),
    }),
  };
}
