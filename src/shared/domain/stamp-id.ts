import { hash } from 'node:crypto';

/** Returns the time at the start of a stamp id (S7, RFC 9562 §5.7), in milliseconds since the Unix epoch. */
export const timeOfId = (tokenId: string): number => Number.parseInt(tokenId.slice(0, 8) + tokenId.slice(9, 13), 16);

/** Returns a text that sorts before every id of `timeMs` or later. */
export function firstIdAt(timeMs: number): string {
  const hex = Math.max(0, Math.floor(timeMs)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

/** The maximum number of ids in one series. */
export const mostIdsInSeries = 4096;

/**
 * Returns the id at a place of a series, the same on each call. It has the time of the series, then the place as a counter (RFC 9562 §6.2), then
 * bits that nobody can compute without the series id. So the ids sort by their place.
 *
 * @throws RangeError for a place beyond `mostIdsInSeries`
 */
export function idInSeries(seriesId: string, index: number): string {
  if (index < 0 || index >= mostIdsInSeries) throw new RangeError(`a series has no place ${index}`);
  const digest = hash('sha256', `${seriesId}/${index}`);
  const variant = ((Number.parseInt(digest.slice(0, 1), 16) & 0x3) | 0x8).toString(16);
  const counter = index.toString(16).padStart(3, '0');
  return `${seriesId.slice(0, 13)}-7${counter}-${variant}${digest.slice(1, 4)}-${digest.slice(4, 16)}`;
}
