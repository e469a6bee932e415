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

/** The octets that a text takes at most. A token, which stands between two other texts, is ASCII: it has as many octets as characters. */
const mostOctets = (text: string, place: number): number => (place % 2 === 0 ? 3 * text.length : text.length);

/** The JSON array of such answers, UTF-8, in pieces of at most `pieceBytes`, or of one text where that is longer. */
export function jsonArrayOf(items: readonly (readonly string[])[], pieceBytes: number): Buffer[] {
  const pieces: Buffer[] = [];
  let piece = Buffer.alloc(0);
  let at = 0;
  let left = items.reduce(
    (sum, texts) => texts.reduce((most, text, place) => most + mostOctets(text, place), sum + mostOctets(',', 0)),
    mostOctets('[]', 0),
  );
  const write = (text: string, place: number) => {
    const most = mostOctets(text, place);
    if (at + most > piece.length) {
      if (at > 0) pieces.push(piece.subarray(0, at));
      piece = Buffer.allocUnsafeSlow(Math.max(most, Math.min(pieceBytes, left)));
      at = 0;
    }
    at += piece.write(text, at, place % 2 === 0 ? 'utf8' : 'latin1');
    left -= most;
  };
  for (const [index, [first = '', ...others]] of items.entries()) {
    write(`${index === 0 ? '[' : ','}${first}`, 0);
    for (const [before, text] of others.entries()) write(text, before + 1);
  }
  write(items.length === 0 ? '[]' : ']', 0);
  pieces.push(piece.subarray(0, at));
  return pieces;
}
