/** genTime as RFC 3339 in UTC: `20261121120000.25Z` becomes `2026-11-21T12:00:00.250Z`. */
export function rfc3339Of(genTimeText: string): string {
  const part = (from: number, to?: number) => genTimeText.slice(from, to);
  return withUsualFraction(`${part(0, 4)}-${part(4, 6)}-${part(6, 8)}T${part(8, 10)}:${part(10, 12)}:${part(12)}`);
}

/**
 * A time with three or six digits after the second, as programs write them (S8): Python before 3.11 reads no others. It is padded, and what
 * is finer than a microsecond is cut. One without such digits stays so, and so does a text that is no time.
 */
export const withUsualFraction = (rfc3339: string): string =>
  rfc3339.replace(/\.(\d+)Z$/, (_, digits: string) => `.${digits.slice(0, 6).padEnd(digits.length > 3 ? 6 : 3, '0')}Z`);
