const chunkCharacters = 64 * 1024;

/** The same text in fewer and larger pieces, as bytes. */
export async function* inChunks(pieces: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Buffer> {
  let waiting: string[] = [];
  let characters = 0;
  for await (const piece of pieces) {
    waiting.push(piece);
    characters += piece.length;
    if (characters < chunkCharacters) continue;
    yield Buffer.from(waiting.join(''));
    waiting = [];
    characters = 0;
  }
  if (waiting.length > 0) yield Buffer.from(waiting.join(''));
}
