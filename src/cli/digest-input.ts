import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Imprint, ImprintAlgorithm } from '../shared/domain/stamp.ts';
import { CommandFailure, exitCodes } from './failure.ts';
import { readableSize } from './terminal.ts';

/** The number of bytes that are read at a time. Hashing needs only this much memory, for a file of any size. */
const chunkBytes = 1024 * 1024;
/** The maximum size of content that is sent. It is sent in one body, and larger content does not fit into one string. */
const mostContentBytes = 256 * 1024 * 1024;

/** The name of standard input on the command line. */
export const standardInput = '-';

export interface DigestOptions {
  /** The hash algorithms; default: only `sha256`. */
  readonly algorithms?: readonly [ImprintAlgorithm, ...ImprintAlgorithm[]];
  /** Whether the content is also kept in memory, for an upload. */
  readonly keepsContent?: boolean;
  /** Called after each part, with the size of the whole file if it is known. */
  readonly onBytes?: (count: number, total: number | undefined) => void;
}

export interface DigestedInput {
  /** The imprint in the first algorithm. */
  readonly imprint: Imprint;
  /** One imprint for each algorithm, in the order of `algorithms`. */
  readonly imprints: readonly Imprint[];
  readonly bytes: number;
  readonly content: Buffer | undefined;
}

/** Hashes a stream. @throws CommandFailure if content to keep is too large */
async function digestChunks(chunks: AsyncIterable<Uint8Array>, options: DigestOptions, total?: number): Promise<DigestedInput> {
  const { algorithms = ['sha256'], keepsContent = false, onBytes } = options;
  const hashes = algorithms.map((algorithm) => ({ algorithm, hash: createHash(algorithm) }));
  const kept: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    for (const { hash } of hashes) hash.update(chunk);
    bytes += chunk.length;
    onBytes?.(chunk.length, total);
    if (!keepsContent) continue;
    if (bytes > mostContentBytes) {
      throw new CommandFailure(
        exitCodes.file,
        `tier sealed uploads the content, but more than ${readableSize(mostContentBytes)} is too much`,
      );
    }
    kept.push(Buffer.from(chunk));
  }
  const imprints = hashes.map(({ algorithm, hash }) => ({ algorithm, digest: hash.digest('hex') }));
  return { imprint: imprints[0]!, imprints, bytes, content: keepsContent ? Buffer.concat(kept) : undefined };
}

/**
 * The imprints of a file, which is read as a stream.
 *
 * @throws CommandFailure if it is a directory, or if it changes while it is read: the bytes are then a mix of the old and the new file
 */
export async function digestFile(path: string, options: DigestOptions = {}): Promise<DigestedInput> {
  const file = await open(path, 'r');
  try {
    const before = await file.stat({ bigint: true });
    if (before.isDirectory()) throw new CommandFailure(exitCodes.file, 'this is a folder');
    const buffer = Buffer.allocUnsafe(chunkBytes);
    async function* read() {
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, chunkBytes, null);
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    }
    const digested = await digestChunks(read(), options, Number(before.size));
    const after = await file.stat({ bigint: true });
    if (after.mtimeNs !== before.mtimeNs || after.size !== before.size) {
      throw new CommandFailure(exitCodes.file, 'the file changed while it was read');
    }
    return digested;
  } finally {
    await file.close();
  }
}

/**
 * The imprints of a file, or of standard input if the path is `-`.
 *
 * @throws the same CommandFailures as `digestFile`, also if content to keep is too large
 */
export const digestInput = (path: string, stdin: AsyncIterable<Uint8Array>, options: DigestOptions = {}): Promise<DigestedInput> =>
  path === standardInput ? digestChunks(stdin, options) : digestFile(path, options);
