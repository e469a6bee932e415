/** What stands in the place of an address that was redacted (W10). */
export const redactedEmail = '[REDACTED]';

/**
 * An address as a public page may show it (W11): `j•••@example.com`. Always three dots, so that they say nothing of the length;
 * the first character is a whole grapheme; the local part ends at the last `@` (RFC 5321 §4.1.2: a quoted one may hold more).
 */
export function maskEmail(address: string): string {
  const at = address.lastIndexOf('@');
  if (address === redactedEmail || at < 1) return redactedEmail;
  const [first] = new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(address.slice(0, at));
  return `${first?.segment ?? ''}•••${address.slice(at)}`;
}
