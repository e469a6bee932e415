/**
 * This module splits the path of a leaf in a hash tree (RFC 4998 §4.2) into two parts for the store: the crown, which is the upper nodes of the
 * tree, once for all leaves; and for each leaf only its blind and the siblings below the crown.
 */

/** The position of a leaf in its tree. */
interface LeafPlace {
  /** The number of the leaf, from 0. */
  readonly index: number;
  /** Number of leaves in the tree. */
  readonly leaves: number;
}

/** The lowest level of the crown has at most this many nodes. With SHA-256 the whole crown is at most 8 KB. */
const crownWidth = 128;

const widthAt = (leaves: number, height: number): number => Math.ceil(leaves / 2 ** height);

function heightsOf(leaves: number): { readonly crown: number; readonly root: number } {
  let root = 0;
  while (widthAt(leaves, root) > 1) root += 1;
  let crown = 0;
  while (widthAt(leaves, crown) > crownWidth) crown += 1;
  return { crown, root };
}

/** The heights, from `from` up to but not including `to`, at which the path of a leaf has a sibling. A last odd node moves up without a sibling. */
function siblingHeights({ index, leaves }: LeafPlace, from: number, to: number): number[] {
  const heights: number[] = [];
  for (let height = from; height < to; height += 1) {
    if ((Math.floor(index / 2 ** height) ^ 1) < widthAt(leaves, height)) heights.push(height);
  }
  return heights;
}

/** Returns the crown: all nodes from its lowest level up to the children of the root, concatenated. @param levels all levels, from the leaves up */
export function crownOf(levels: readonly (readonly Buffer[])[]): Buffer {
  const { crown, root } = heightsOf(levels[0]?.length ?? 0);
  return Buffer.concat(levels.slice(crown, root).flat());
}

/** Returns the part of a path that is stored for each leaf: the blind and the siblings below the crown, concatenated. */
export function lowerPathOf(place: LeafPlace, path: readonly Buffer[]): Buffer {
  const siblings = siblingHeights(place, 0, heightsOf(place.leaves).crown).length;
  return Buffer.concat(path.slice(0, 1 + siblings));
}

/** Joins the two parts of a path: blind, then siblings. Returns undefined if their lengths do not fit the place. @param octets length of a digest */
export function wholePathOf(place: LeafPlace, lower: Buffer, crown: Buffer, octets: number): Buffer[] | undefined {
  const { index, leaves } = place;
  if (!(Number.isInteger(index) && Number.isInteger(leaves) && index >= 0 && index < leaves && leaves <= 2 ** 32)) return undefined;
  const heights = heightsOf(leaves);
  const isWhole = lower.length === octets * (1 + siblingHeights(place, 0, heights.crown).length);
  const nodeAt = (bytes: Buffer, i: number) => bytes.subarray(i * octets, (i + 1) * octets);
  const offsets = new Map<number, number>();
  let nodes = 0;
  for (let height = heights.crown; height < heights.root; nodes += widthAt(leaves, height), height += 1) offsets.set(height, nodes);
  if (!isWhole || crown.length !== nodes * octets) return undefined;
  const siblings = siblingHeights(place, heights.crown, heights.root);
  return [
    ...Array.from({ length: lower.length / octets }, (_, i) => nodeAt(lower, i)),
    ...siblings.map((height) => nodeAt(crown, offsets.get(height)! + (Math.floor(index / 2 ** height) ^ 1))),
  ];
}
