import { hash } from 'node:crypto';

/**
 * The Merkle tree of RFC 9162 §2.1 over SHA-256 (W9). Leaf inputs are the raw bytes of the output hashes in their order; leaves
 * and nodes are hashed under different prefixes, so that neither can be taken for the other, and a last node without a partner
 * rises unchanged instead of being doubled.
 */
const hashBytes = 32;
const leafPrefix = Uint8Array.of(0);

const sha256 = (...parts: readonly Uint8Array[]): Buffer => hash('sha256', Buffer.concat(parts), 'buffer');

/** RFC 9162 §2.1.1: `MTH({d[0]}) = HASH(0x00 || d[0])`. */
export const leafHash = (leafInput: Uint8Array): Buffer => sha256(leafPrefix, leafInput);

/** The input of a node hash. One buffer serves all nodes, so that a large tree leaves no garbage. */
const nodeInput = Buffer.alloc(1 + 2 * hashBytes, 1);

/** RFC 9162 §2.1.1: `HASH(0x01 || left || right)`. */
function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
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

/**
 * RFC 9162 §4.11: where a leaf stands in which tree, and the hashes that lead from it to the root, lowest first.
 *
 * Proofs are for the evidence of a workflow, which the service does not hand out yet: until then only tests make and verify them.
 */
export interface InclusionProof {
  readonly treeSize: number;
  /** Zero-based; output number n is leaf n − 1. */
  readonly leafIndex: number;
  readonly inclusionPath: readonly Uint8Array[];
}

export interface InclusionProver {
  readonly treeSize: number;
  readonly rootHash: Buffer;
  /** @throws RangeError no leaf has that index */
  proveInclusion(leafIndex: number): InclusionProof & { readonly inclusionPath: readonly Buffer[] };
}

/**
 * Keeps every node of a tree (64 bytes a leaf), so that each proof costs one look-up a level and all of them together do not
 * hash anything twice.
 */
export function createInclusionProver(leafInputs: Iterable<Uint8Array>): InclusionProver {
  const levels: Buffer[][] = [Array.from(leafInputs, leafHash)];
  for (let level = levels[0]!; level.length > 1; level = levels.at(-1)!) {
    levels.push(
      Array.from({ length: Math.ceil(level.length / 2) }, (_, i) => {
        const [left, right] = [level[2 * i]!, level[2 * i + 1]];
        return right ? nodeHash(left, right) : left;
      }),
    );
  }
  const treeSize = levels[0]!.length;
  return {
    treeSize,
    rootHash: levels.at(-1)![0] ?? sha256(),
    proveInclusion(leafIndex) {
      if (!isIndexIn(leafIndex, treeSize)) throw new RangeError(`no leaf ${leafIndex} in a tree of ${treeSize}`);
      const siblings = levels.map((level, height) => {
        const index = Math.floor(leafIndex / 2 ** height);
        return level[index % 2 === 0 ? index + 1 : index - 1];
      });
      return { treeSize, leafIndex, inclusionPath: siblings.filter((sibling) => sibling !== undefined) };
    },
  };
}

/** The proof that one leaf is in the tree of all of them (RFC 9162 §2.1.3.1). For several proofs of a tree keep a prover. */
export const proveInclusion = (leafInputs: Iterable<Uint8Array>, leafIndex: number): InclusionProof =>
  createInclusionProver(leafInputs).proveInclusion(leafIndex);

const isIndexIn = (index: number, treeSize: number): boolean =>
  Number.isSafeInteger(treeSize) && Number.isSafeInteger(index) && index >= 0 && index < treeSize;

/** Why a proof does not prove (refusal 48). */
export type InclusionFault =
  | 'tree_size_mismatch'
  | 'leaf_index_out_of_range'
  | 'hash_malformed'
  | 'path_too_short'
  | 'path_too_long'
  | 'root_mismatch';

export type InclusionVerdict = { readonly ok: true } | { readonly ok: false; readonly fault: InclusionFault };

/**
 * Verifies that a leaf input is in the tree of `head`, at the place that the proof names (RFC 9162 §2.1.3.2).
 *
 * A root alone does not say how many leaves it covers: several sizes can share the shape of one path. Therefore the size comes
 * with the trusted head, and a proof that names another one is refused. Never throws, whatever the proof holds.
 */
export function verifyInclusion(leafInput: Uint8Array, proof: InclusionProof, head: TreeHead): InclusionVerdict {
  const refuse = (fault: InclusionFault): InclusionVerdict => ({ ok: false, fault });
  const { treeSize, leafIndex, inclusionPath } = proof;

  if (treeSize !== head.treeSize) return refuse('tree_size_mismatch');
  if (!isIndexIn(leafIndex, treeSize)) return refuse('leaf_index_out_of_range');
  if ([head.rootHash, ...inclusionPath].some((node) => node.length !== hashBytes)) return refuse('hash_malformed');

  // Divided, not shifted: JavaScript shifts 32 bits only.
  const half = (value: number): number => Math.floor(value / 2);
  let index = leafIndex;
  let last = treeSize - 1;
  let node = leafHash(leafInput);
  for (const sibling of inclusionPath) {
    if (last === 0) return refuse('path_too_long');
    if (index % 2 === 1 || index === last) {
      node = nodeHash(sibling, node);
      while (index % 2 === 0 && index !== 0) {
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
