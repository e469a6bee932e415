const tokenMember = '"token":"';
/** For shorter tokens this is no faster than `JSON.stringify`. */
const longTokenCharacters = 1_024;

/**
 * The JSON of an answer: these texts, one after the other. `JSON.stringify` looks at each character of a token for what must be escaped. A token is
 * base64, which has nothing of that kind, so a long one is put in as it is. To look for quotes again costs next to nothing.
 *
 * @param made of plain members; its `token`, if any, was made here or found valid, so it is base64
 */
export function jsonTextsOf(made: object): readonly string[] {
  const { token } = made as { readonly token?: unknown };
  const isPlain = typeof token === 'string' && token.length >= longTokenCharacters && !token.includes('"') && !token.includes('\\');
  if (!isPlain) return [JSON.stringify(made)];
  const text = JSON.stringify({ ...made, token: '' });
  const at = text.indexOf(`${tokenMember}"`) + tokenMember.length;
  return [text.slice(0, at), token, text.slice(at)];
}

/** The JSON array of such answers, UTF-8. Each text is written to its place: joined first, long ones would be copied once more. */
export function jsonArrayOf(items: readonly (readonly string[])[]): Buffer {
  const pieces = ['['];
  const extendLast = (text: string) => pieces.push(`${pieces.pop()}${text}`);
  for (const [index, [first = '', ...others]] of items.entries()) {
    extendLast(index === 0 ? first : `,${first}`);
    pieces.push(...others);
  }
  extendLast(']');
  const bytes = Buffer.allocUnsafe(pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0));
  let at = 0;
  for (const piece of pieces) at += bytes.write(piece, at);
  return bytes;
}
