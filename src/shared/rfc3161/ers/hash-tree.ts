import { nodeOf } from '../../proof/hash-tree.js';
import type { DigestAlgorithm } from '../x509/algorithms.ts';
import { digestData } from '../x509/algorithms.ts';

/** This module builds hash trees of RFC 4998 §4.2 for many documents. `shared/proof` computes the hash of a node and the root of a reduced tree. */

/** The path of a hash as a SEQUENCE OF PartialHashtree: the lists from the hash to the root. The first list contains the hash (RFC 4998 §4.1). */
export type ReducedHashtree = readonly (readonly Buffer[])[];

/** A tree and the path of each of its leaves. */
export interface HashTree {
  readonly root: Buffer;
  /** The nodes of each level, from the leaves up. The last level has only the root. A node without a sibling moves up unchanged. */
  readonly levels: readonly (readonly Buffer[])[];
  /** Returns the path of the group with this index up to the root: its blind, then its sibling at each level where it has one. */
  pathOf(index: number): readonly Buffer[];
  /** Returns the list of hashes of the group with this index, then each hash of `pathOf` in its own list. */
  reducedHashtreeOf(index: number): ReducedHashtree;
}

/**
 * Builds a binary tree over groups of hashes. A group is usually the hash of one document. Each group is hashed with its own blind, so that the hashes
 * in a path reveal nothing about other groups. A node without a sibling moves up unchanged.
 *
 * @param groups one or more groups; all hashes of a group are in the first list of its path
 * @param blinds for each group, random octets that are as long as a digest
 */
export function buildHashTree(algorithm: DigestAlgorithm, groups: readonly (readonly Buffer[])[], blinds: readonly Buffer[]): HashTree {
  if (groups.length === 0 || groups.length !== blinds.length) throw new RangeError('each group of hashes needs its blind');
  const hash = (octets: Uint8Array) => digestData(algorithm, octets);
  const levels: (readonly Buffer[])[] = [groups.map((group, i) => nodeOf(hash, [nodeOf(hash, group), blinds[i]!]))];
  for (let level = levels[0]!; level.length > 1; levels.push(level)) level = parentsOf(hash, level);

  function pathOf(index: number): Buffer[] {
    const blind = blinds[index];
    if (blind === undefined) throw new RangeError(`the tree has no group ${index}`);
    const path = [blind];
    for (let height = 0; height < levels.length; height += 1) {
      const sibling = levels[height]![(index >> height) ^ 1];
      if (sibling !== undefined) path.push(sibling);
    }
    return path;
  }

  return {
    root: levels.at(-1)![0]!,
    levels,
    pathOf,
    reducedHashtreeOf: (index) => {
      const path = pathOf(index);
      return [groups[index]!, ...path.map((hash) => [hash])];
    },
  };
}

function parentsOf(hash: (octets: Uint8Array) => Buffer, level: readonly Buffer[]): readonly Buffer[] {
  return Array.from({ length: Math.ceil(level.length / 2) }, (_, i) => nodeOf(hash, level.slice(2 * i, 2 * i + 2)));
}
