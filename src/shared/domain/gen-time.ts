/** genTime as RFC 3339 in UTC with every digit of the token (S8): `20261121120000.25Z` becomes `2026-11-21T12:00:00.25Z`. */
export function rfc3339Of(genTimeText: string): string {
  const part = (from: number, to?: number) => genTimeText.slice(from, to);
  return `${part(0, 4)}-${part(4, 6)}-${part(6, 8)}T${part(8, 10)}:${part(10, 12)}:${part(12)}`;
}
