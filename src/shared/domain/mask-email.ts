/** The text that replaces an e-mail address when it is redacted (W10). */
export const redactedEmail = '[REDACTED]';

/**
 * Masks an e-mail address for public pages (W11): `j•••@example.com`. There are always three dots, whatever the length. The first character is a
 * whole grapheme. The local part ends at the last `@`, because a quoted local part may contain more of them (RFC 5321 §4.1.2).
 */
export function maskEmail(address: string): string {
  const at = address.lastIndexOf('@');
  if (address === redactedEmail || at < 1) return redactedEmail;
  const [first] = new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(address.slice(0, at));
  return `${first?.segment ?? ''}•••${address.slice(at)}`;
}
