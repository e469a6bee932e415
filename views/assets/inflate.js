// @ts-check

/** Unpacks deflate (RFC 1951) as a stream. @param {AsyncIterable<Uint8Array>} packed */
export async function* inflate(packed) {
  const pieces = packed[Symbol.asyncIterator]();
  /** @type {ReadableStream<BufferSource>} */
  const stream = new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(/** @type {Uint8Array<ArrayBuffer>} */ (value));
    },
    cancel: async () => void (await pieces.return?.()),
  });
  const reader = stream.pipeThrough(new DecompressionStream('deflate-raw')).getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel().catch(() => {});
  }
}
