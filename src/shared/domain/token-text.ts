/**
 * Decodes a token in the forms that people and programs pass on: base64 in either alphabet (RFC 4648 §4, §5), with or without padding, in one or
 * more lines. Returns undefined for any other text. Only white space is skipped, so a text means only one token.
 */
export function bytesOfTokenText(text: string): Buffer | undefined {
  const compact = text.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/');
  const bytes = Buffer.from(compact, 'base64');
  const canonical = bytes.toString('base64');
  return bytes.length > 0 && (compact === canonical || compact === canonical.replace(/=+$/, '')) ? bytes : undefined;
}
