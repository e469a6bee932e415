import { Binary } from 'mongodb';

/** A leaf of a batch that is about to be written. */
export interface NewLeaf {
  readonly tokenId: string;
  readonly blind: Buffer;
}

const blindBytes = 4;
const entryBytes = blindBytes + 16;

const idOf = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

/** Whose the leaves of a batch are, as its document says it: 20 octets for each. An index of the stamps would take a hundred. */
export function leafIdsOf(leaves: readonly NewLeaf[]): Buffer {
  const ids = Buffer.alloc(leaves.length * entryBytes);
  for (const [i, { tokenId, blind }] of leaves.entries()) {
    blind.copy(ids, i * entryBytes, 0, blindBytes);
    ids.write(tokenId.replaceAll('-', ''), i * entryBytes + blindBytes, 'hex');
  }
  return ids;
}

/** The id of each leaf's stamp, and the first octets of its blind, in whatever the database holds. */
export function leavesIn(leafIds: unknown): { blind: Buffer; tokenId: string }[] {
  if (!(leafIds instanceof Binary)) return [];
  const bytes = Buffer.from(leafIds.buffer);
  return Array.from({ length: Math.floor(bytes.length / entryBytes) }, (_, i) => {
    const [at, end] = [i * entryBytes, (i + 1) * entryBytes];
    return { blind: bytes.subarray(at, at + blindBytes), tokenId: idOf(bytes.toString('hex', at + blindBytes, end)) };
  });
}

/** Whether a leaf that has this blind may be that one. */
export const isMarkedBy = (blind: Buffer, leaf: { readonly blind: Buffer }): boolean => blind.subarray(0, blindBytes).equals(leaf.blind);
