/** Called when a large body is sent, with its size. The returned function is called with the bytes of each part. */
export type OnUpload = (total: number) => (count: number) => void;

/** Smaller bodies are sent before anybody could read how far they are. */
const leastWatchedBytes = 1024 * 1024;
const partBytes = 64 * 1024;

/**
 * A `fetch` for the client that reports how much of a large body is sent; the client decides what is sent to whom. A blob has a known size, and is
 * read only as fast as the connection takes it.
 */
export const watchedFetch =
  (onUpload: OnUpload): typeof globalThis.fetch =>
  (input, init) => {
    const body = typeof init?.body === 'string' ? new Blob([init.body]) : init?.body;
    if (!(body instanceof Blob) || body.size < leastWatchedBytes) return fetch(input, init);
    const open = body.stream.bind(body);
    async function* parts(onBytes: (count: number) => void) {
      for await (const chunk of open()) {
        for (let at = 0; at < chunk.length; at += partBytes) {
          const part = chunk.subarray(at, at + partBytes);
          yield part;
          onBytes(part.length);
        }
      }
    }
    body.stream = () => ReadableStream.from(parts(onUpload(body.size)));
    return fetch(input, { ...init, body });
  };
