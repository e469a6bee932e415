/** Converts a genTime to RFC 3339 in UTC: `20261121120000.25Z` becomes `2026-11-21T12:00:00.250Z`. */
export function rfc3339Of(genTimeText: string): string {
  const part = (from: number, to?: number) => genTimeText.slice(from, to);
  return withUsualFraction(`${part(0, 4)}-${part(4, 6)}-${part(6, 8)}T${part(8, 10)}:${part(10, 12)}:${part(12)}`);
}

/**
 * Gives the fraction of a second three or six digits (S8), because Python before 3.11 cannot read other fractions. Adds zeros, and removes digits
 * after microseconds. A time without a fraction is returned unchanged, like any other text.
 */
const withUsualFraction = (rfc3339: string): string =>
  rfc3339.replace(/\.(\d+)Z$/, (_, digits: string) => `.${digits.slice(0, 6).padEnd(digits.length > 3 ? 6 : 3, '0')}Z`);
