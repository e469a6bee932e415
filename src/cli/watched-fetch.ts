/** Called when a large body is sent, with its size. The returned function is called with the bytes of each part. */
export type OnUpload = (total: number) => (count: number) => void;

/** Smaller bodies are sent before anybody could read how far they are. */
const leastWatchedBytes = 1024 * 1024;
const partBytes = 64 * 1024;

/**
 * A `fetch` for the client that reports how much of a large body is sent. A blob has a known size. It is read only as fast as the connection takes it.
 */
export const watchedFetch =
  (onUpload: OnUpload): typeof globalThis.fetch =>
  (input, init) => {
    const body = typeof init?.body === 'string' ? new Blob([init.body]) : init?.body;
    if (!(body instanceof Blob) || body.size < leastWatchedBytes) return fetch(input, init);
    // A copy, which does not copy the bytes: the client sends the same blob again after a failure.
    const watched = body.slice();
    watched.stream = () => ReadableStream.from(partsOf(body, onUpload(body.size)));
    return fetch(input, { ...init, body: watched });
  };

async function* partsOf(blob: Blob, onBytes: (count: number) => void): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for await (const chunk of blob.stream()) {
    for (let at = 0; at < chunk.length; at += partBytes) {
      const part = chunk.subarray(at, at + partBytes);
      yield part;
      onBytes(part.length);
    }
  }
}
