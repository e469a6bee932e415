/** Replaces an address that was redacted (W10). */
export const redactedEmail = '[REDACTED]';

/**
 * An address as public pages show it (W11): `j•••@example.com`. Always three dots, whatever the length. The first character is a whole grapheme.
 * The local part ends at the last `@`, since a quoted one may contain others (RFC 5321 §4.1.2).
 */
export function maskEmail(address: string): string {
  const at = address.lastIndexOf('@');
  if (address === redactedEmail || at < 1) return redactedEmail;
  const [first] = new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(address.slice(0, at));
  return `${first?.segment ?? ''}•••${address.slice(at)}`;
}
