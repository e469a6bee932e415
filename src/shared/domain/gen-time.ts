/** genTime as RFC 3339 in UTC with every digit of the token (S8): `20261121120000.25Z` becomes `2026-11-21T12:00:00.25Z`. */
export const rfc3339Of = (genTimeText: string): string =>
  genTimeText.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(.*)$/, '$1-$2-$3T$4:$5:$6$7');
