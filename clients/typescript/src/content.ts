import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { QstampError } from './errors.ts';
import { builtin } from './runtime.ts';

/** Bytes in memory or from a stream; a stream is read once, in parts. */
export type Content = Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** A file: a path (Node.js, Deno, Bun), or a browser's File. */
export type FileSource = string | URL | Blob;

interface Hashing {
  update(bytes: Uint8Array): unknown;
  digest(): string;
}

/**
 * Starts a SHA-256 that takes the content in parts. `crypto.subtle` cannot be used: it needs the whole content at once, and a page loaded over HTTPS.
 */
function startHashing(): Hashing {
  const native = builtin?.('node:crypto').createHash('sha256');
  if (native) return { update: (bytes) => native.update(bytes), digest: () => native.digest('hex') };
  const hash = sha256.create();
  return { update: (bytes) => hash.update(bytes), digest: () => bytesToHex(hash.digest()) };
}

/** The number of bytes that are read from a file at a time. */
const chunkBytes = 1024 * 1024;

/** Yields the parts of the content. Safari cannot iterate over a stream, so the stream's reader is used. */
async function* piecesOf(content: Content): AsyncGenerator<Uint8Array> {
  if (content instanceof Uint8Array) yield content;
  else if (content instanceof ArrayBuffer) yield new Uint8Array(content);
  else if (content instanceof Blob) yield* readStream(content.stream());
  else if (content instanceof ReadableStream) yield* readStream(content);
  else if (typeof content === 'object' && content !== null && Symbol.asyncIterator in content) yield* content;
  else throw new QstampError('the content must be bytes, a Blob or a stream; stampText takes a text, stampFile a path');
}

/** Yields the parts of a stream. */
export async function* readStream(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    // Cancels the rest of a download if the caller stops early.
    reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}

/** Opens a file as content. It is read only while it is hashed. @throws QstampError if paths are not supported */
export function contentOf(file: FileSource): Content {
  if (file instanceof Blob) return file;
  if (builtin === undefined) throw new QstampError('paths are not supported here: give the File, or a Blob');
  return builtin('node:fs').createReadStream(file, { highWaterMark: chunkBytes });
}

/** SHA-256 of content of any size, as 64 lower-case hexadecimal characters. Only one part of the content is in memory. */
export async function sha256Of(content: Content): Promise<string> {
  const hashing = startHashing();
  for await (const piece of piecesOf(content)) hashing.update(piece);
  return hashing.digest();
}

/** SHA-256 of a file, which is read in parts. @throws QstampError if paths are not supported */
export const sha256OfFile = (file: FileSource): Promise<string> => sha256Of(contentOf(file));

/** Like `sha256Of`, and also returns the content as base64. All of it is in memory, so use it only for content that is sent. */
export async function readWhole(content: Content): Promise<{ readonly sha256: string; readonly base64: string }> {
  const bytes = content instanceof Uint8Array ? content : await joined(piecesOf(content));
  return { sha256: await sha256Of(bytes), base64: base64Of(bytes) };
}

export function base64Of(bytes: Uint8Array): string {
  // Converted in slices, because the number of arguments of a call is limited.
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

async function joined(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const copies: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of pieces) copies.push(new Uint8Array(piece));
  return new Uint8Array(await new Blob(copies).arrayBuffer());
}
