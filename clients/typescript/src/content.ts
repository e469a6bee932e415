import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { QstampError } from './errors.ts';

/** Bytes in memory or on their way; a stream is read once, piece by piece. */
export type Content = Uint8Array | ArrayBuffer | Blob | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

/** A file: its path, where there are files (Node, Deno, Bun), or what a browser gives of one. */
export type FileSource = string | URL | Blob;

interface Hashing {
  update(bytes: Uint8Array): unknown;
  digest(): string;
}

/** What Node, Deno and Bun have built in; a bundler for browsers sees no import. */
interface Builtins {
  (name: 'node:crypto'): { createHash(name: 'sha256'): { update(bytes: Uint8Array): unknown; digest(encoding: 'hex'): string } };
  (name: 'node:fs'): { createReadStream(path: string | URL, options: { highWaterMark: number }): AsyncIterable<Uint8Array> };
}
const builtin = (globalThis as { process?: { getBuiltinModule?: Builtins } }).process?.getBuiltinModule;

/** `crypto.subtle` would want the content whole, and a page that came over HTTPS. */
function startHashing(): Hashing {
  const native = builtin?.('node:crypto').createHash('sha256');
  if (native) return { update: (bytes) => native.update(bytes), digest: () => native.digest('hex') };
  const hash = sha256.create();
  return { update: (bytes) => hash.update(bytes), digest: () => bytesToHex(hash.digest()) };
}

/** Octets of a file that are read at a time. */
const chunkBytes = 1024 * 1024;

/** Pieces of the content; Safari cannot iterate over a stream, so its reader is asked. */
async function* piecesOf(content: Content): AsyncGenerator<Uint8Array> {
  if (content instanceof Uint8Array) yield content;
  else if (content instanceof ArrayBuffer) yield new Uint8Array(content);
  else if (content instanceof Blob) yield* readStream(content.stream());
  else if (content instanceof ReadableStream) yield* readStream(content);
  else if (typeof content === 'object' && content !== null && Symbol.asyncIterator in content) yield* content;
  else throw new QstampError('the content must be bytes, a Blob or a stream; stampText takes a text, stampFile a path');
}

/** A stream piece by piece. */
export async function* readStream(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    // Nobody wants the rest, if there is one: a download ends here.
    reader.cancel().catch(() => undefined);
    reader.releaseLock();
  }
}

/** A file as content, read only when it is hashed. @throws QstampError where there are no paths */
export function contentOf(file: FileSource): Content {
  if (file instanceof Blob) return file;
  if (builtin === undefined) throw new QstampError('here are no paths: give the File, or a Blob');
  return builtin('node:fs').createReadStream(file, { highWaterMark: chunkBytes });
}

/** SHA-256 of the content, 64 lower-case hexadecimal characters; of any size in the memory of one piece. */
export async function sha256Of(content: Content): Promise<string> {
  const hashing = startHashing();
  for await (const piece of piecesOf(content)) hashing.update(piece);
  return hashing.digest();
}

/** SHA-256 of a file, read piece by piece. @throws QstampError where there are no paths */
export const sha256OfFile = (file: FileSource): Promise<string> => sha256Of(contentOf(file));

/** The same, and the content as base64: in memory, so only what is to be sent. */
export async function readWhole(content: Content): Promise<{ readonly sha256: string; readonly base64: string }> {
  const bytes = content instanceof Uint8Array ? content : await joined(piecesOf(content));
  // In slices: the arguments of one call are limited in number.
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return { sha256: await sha256Of(bytes), base64: btoa(text) };
}

async function joined(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const copies: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of pieces) copies.push(new Uint8Array(piece));
  return new Uint8Array(await new Blob(copies).arrayBuffer());
}
