/** The time that the id of a stamp begins with (S7, RFC 9562 §5.7), milliseconds since the Unix epoch. */
export const timeOfId = (tokenId: string): number => Number.parseInt(tokenId.slice(0, 8) + tokenId.slice(9, 13), 16);

/** No id of `timeMs` or later sorts before this. */
export function firstIdAt(timeMs: number): string {
  const hex = Math.max(0, Math.floor(timeMs)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
