import { digestCharacters, type ImprintAlgorithm } from '../domain/stamp.ts';

/**
 * This module converts jobs of earlier versions, which may still wait in Redis when this version starts. Version 0.2.0 called a SHA-256 `hash` and
 * stored metadata unencrypted. Later versions stored the common fields of a job's items once (`alike`).
 */

type Members = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null;

/** The number of characters in a UUID. */
const idCharacters = 36;

function itemsOfGroup(group: unknown): Members[] {
  if (!isObject(group)) return [];
  const { shared, algorithm, tokenIds, digests } = group;
  const characters = digestCharacters[algorithm as ImprintAlgorithm] ?? 0;
  const isWhole =
    typeof tokenIds === 'string' && typeof digests === 'string' && digests.length * idCharacters === tokenIds.length * characters;
  if (!isWhole || !isObject(shared)) return [];
  return Array.from({ length: tokenIds.length / idCharacters }, (_, index) => ({
    ...shared,
    tokenId: tokenIds.slice(index * idCharacters, (index + 1) * idCharacters),
    imprint: { algorithm, digest: digests.slice(index * characters, (index + 1) * characters) },
  }));
}

function itemInPresentForm(item: unknown): unknown {
  if (!isObject(item) || !('hash' in item)) return item;
  const { hash, ...rest } = item;
  const metadata = 'metadata' in rest && { metadata: JSON.stringify(rest.metadata) };
  return { ...rest, ...metadata, imprint: { algorithm: 'sha256', digest: hash } };
}

/** Converts the payload of a stamp job to the current form, if an earlier version wrote it. Other values keep their contents. */
export function inPresentForm(payload: unknown): unknown {
  if (!isObject(payload)) return payload;
  const { alike, items, ...rest } = payload;
  if (Array.isArray(alike)) {
    const groups = alike.map(itemsOfGroup);
    // An unreadable group must not be lost: a job without items does not parse, so it waits for a version that can read it.
    return { ...rest, items: groups.some(({ length }) => length === 0) ? [] : groups.flat() };
  }
  return { ...rest, items: Array.isArray(items) ? items.map(itemInPresentForm) : items };
}
