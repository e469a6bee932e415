import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { QstampError } from './errors.ts';

/** Bytes in memory or from a stream; a stream is read once, in parts. */
export type Content = Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** A file: a path (Node.js, Deno, Bun), or a browser's File. */
export type FileSource = string | URL | Blob;

interface Hashing {
  update(bytes: Uint8Array): unknown;
  digest(): string;
}

/** Built-in modules of Node.js, Deno and Bun, loaded so that a bundler for browsers sees no import. */
interface Builtins {
  (name: 'node:crypto'): { createHash(name: 'sha256'): { update(bytes: Uint8Array): unknown; digest(encoding: 'hex'): string } };
  (name: 'node:fs'): { createReadStream(path: string | URL, options: { highWaterMark: number }): AsyncIterable<Uint8Array> };
}
const builtin = (globalThis as { process?: { getBuiltinModule?: Builtins } }).process?.getBuiltinModule;

/** Not `crypto.subtle`: it needs the whole content at once, and a page loaded over HTTPS. */
function startHashing(): Hashing {
  const native = builtin?.('node:crypto').createHash('sha256');
  if (native) return { update: (bytes) => native.update(bytes), digest: () => native.digest('hex') };
  const hash = sha256.create();
  return { update: (bytes) => hash.update(bytes), digest: () => bytesToHex(hash.digest()) };
}

/** Octets per read of a file. */
const chunkBytes = 1024 * 1024;

/** Parts of the content. Safari cannot iterate over a stream, so this uses its reader. */
async function* piecesOf(content: Content): AsyncGenerator<Uint8Array> {
  if (content instanceof Uint8Array) yield content;
  else if (content instanceof ArrayBuffer) yield new Uint8Array(content);
  else if (content instanceof Blob) yield* readStream(content.stream());
  else if (content instanceof ReadableStream) yield* readStream(content);
  else if (typeof content === 'object' && content !== null && Symbol.asyncIterator in content) yield* content;
  else throw new QstampError('the content must be bytes, a Blob or a stream; stampText takes a text, stampFile a path');
}

/** A stream in parts. */
export async function* readStream(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    // Cancels the rest of a download that is not needed.
    reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}

/** A file as content, read only during hashing. @throws QstampError if paths are not supported */
export function contentOf(file: FileSource): Content {
  if (file instanceof Blob) return file;
  if (builtin === undefined) throw new QstampError('paths are not supported here: give the File, or a Blob');
  return builtin('node:fs').createReadStream(file, { highWaterMark: chunkBytes });
}

/** SHA-256 of content of any size, 64 lower-case hexadecimal characters; only one part is in memory. */
export async function sha256Of(content: Content): Promise<string> {
  const hashing = startHashing();
  for await (const piece of piecesOf(content)) hashing.update(piece);
  return hashing.digest();
}

/** SHA-256 of a file, read in parts. @throws QstampError if paths are not supported */
export const sha256OfFile = (file: FileSource): Promise<string> => sha256Of(contentOf(file));

/** The same with the content as base64, in memory: only for content to send. */
export async function readWhole(content: Content): Promise<{ readonly sha256: string; readonly base64: string }> {
  const bytes = content instanceof Uint8Array ? content : await joined(piecesOf(content));
  // In slices, because the number of arguments of a call is limited.
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return { sha256: await sha256Of(bytes), base64: btoa(text) };
}

async function joined(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const copies: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of pieces) copies.push(new Uint8Array(piece));
  return new Uint8Array(await new Blob(copies).arrayBuffer());
}
