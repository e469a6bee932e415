import { createHash, randomUUID } from 'node:crypto';
import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Imprint, ImprintAlgorithm } from '../shared/domain/stamp.ts';
import { about, CommandFailure, exitCodes } from './failure.ts';
import { readableSize } from './terminal.ts';

export const standardInput = '-';

export interface DigestOptions {
  readonly algorithms?: readonly [ImprintAlgorithm, ...ImprintAlgorithm[]];
  /** Whether the content is also kept in memory, for an upload. */
  readonly keepsContent?: boolean;
  /** Called after each part, with the size of the whole file if it is known. */
  readonly onBytes?: (count: number, total: number | undefined) => void;
}

export interface DigestedInput {
  readonly imprint: Imprint;
  /** One imprint for each algorithm, in the order of `algorithms`. */
  readonly imprints: readonly Imprint[];
  readonly bytes: number;
  readonly content: Buffer | undefined;
}

/**
 * The imprints of a file, or of standard input if the path is `-`.
 *
 * @throws the same CommandFailures as `digestFile`, also if content to keep is too large
 */
export const digestInput = (path: string, stdin: AsyncIterable<Uint8Array>, options: DigestOptions = {}): Promise<DigestedInput> =>
  path === standardInput ? digestChunks(stdin, options) : digestFile(path, options);

/**
 * The imprints of a file, which is read as a stream.
 *
 * @throws CommandFailure if it is a directory, or if it changes while it is read: the bytes are then a mix of the old and the new file
 */
export async function digestFile(path: string, options: DigestOptions = {}): Promise<DigestedInput> {
  await using file = await open(path, 'r');
  const before = await file.stat({ bigint: true });
  if (before.isDirectory()) throw new CommandFailure(exitCodes.file, 'this is a folder');
  // A stream would take new memory for each chunk.
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
}

/** The number of bytes that are read at a time. Hashing needs only this much memory, for a file of any size. */
const chunkBytes = 1024 * 1024;
/** The maximum size of content that is sent. It is sent in one body, and larger content does not fit into one string. */
const mostContentBytes = 256 * 1024 * 1024;

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

interface SaveFileOptions {
  readonly overwrite: boolean;
  /** True if only the owner may read the file. */
  readonly isSecret?: boolean;
}

/**
 * Saves a file whole or not at all, and returns its size in bytes. The bytes go to a temporary file in the same folder, which then gets the name in one
 * step. After a failure (a full disk, a broken download) or an interrupt (Ctrl-C) the temporary file is removed, and an existing file is unchanged.
 *
 * @throws CommandFailure if the file exists; errors of the file system and of `chunks`
 */
export async function saveFile(
  path: string,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  { overwrite, isSecret = false }: SaveFileOptions,
): Promise<number> {
  // This check avoids a useless download. The check that counts is below.
  if (!overwrite && existsSync(path)) throw new CommandFailure(exitCodes.file, 'the file already exists');
  // The name does not contain that of the file, because together they might be too long.
  const temporary = join(dirname(path), `.qstamp-${randomUUID()}.tmp`);
  removeOnExit(temporary);
  let isPlaced = false;
  try {
    let bytes = 0;
    {
      await using file = await open(temporary, 'wx', isSecret ? 0o600 : 0o666);
      for await (const chunk of chunks) {
        await file.writeFile(chunk);
        bytes += chunk.length;
      }
      await file.sync();
    }
    // Both steps are synchronous, so that no signal is handled between them. A hard link would be one step, but some file systems have none.
    if (!overwrite) {
      closeSync(openSync(path, 'wx'));
      isPlaced = true;
    }
    renameSync(temporary, path);
    return bytes;
  } catch (error) {
    rmSync(temporary, { force: true });
    if (isPlaced) rmSync(path, { force: true });
    throw error;
  } finally {
    unfinished.delete(temporary);
  }
}

const unfinished = new Set<string>();
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function removeOnExit(path: string): void {
  unfinished.add(path);
  if (process.listeners('exit').includes(removeUnfinished)) return;
  for (const each of signals) process.on(each, endBySignal);
  process.on('exit', removeUnfinished);
}

function removeUnfinished(): void {
  for (const path of unfinished) rmSync(path, { force: true });
}

function endBySignal(signal: NodeJS.Signals): void {
  removeUnfinished();
  for (const each of signals) process.off(each, endBySignal);
  // Ends this process as if it had not handled the signal, so that a shell sees why.
  process.kill(process.pid, signal);
}

/** Parses a JSON text. Returns undefined if the text is not JSON. Some editors write a byte order mark, and JSON has none: it is ignored. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

/** Reads a text file. Returns undefined if there is no such file. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

interface SaveOptions extends SaveFileOptions {
  /** The start of the error message if the file cannot be saved: what the user loses. */
  readonly what: string;
}

/** Saves JSON, whole or not at all. @throws CommandFailure with `what` and the reason */
export async function saveJson(path: string, value: object, { what, ...options }: SaveOptions): Promise<void> {
  await about(`${what}, in ${path}`, () => saveFile(path, [Buffer.from(`${JSON.stringify(value, null, 2)}\n`)], options));
}
