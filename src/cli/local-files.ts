import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { asFailure, CommandFailure, exitCodes } from './failure.ts';

interface SaveFileOptions {
  /** Whether an existing file is replaced; otherwise it is an error. */
  readonly overwrite: boolean;
  /** True if only the owner may read the file. */
  readonly isSecret?: boolean;
}

/**
 * Saves a file whole or not at all, and returns its size in bytes. The bytes go to a temporary file in the same folder, which then gets the name in one
 * step. After a failure (a full disk, a broken download) or an interrupt (Ctrl-C) the temporary file is removed, and an existing file is unchanged.
 *
 * @throws errors of the file system, EEXIST among them; errors of `chunks`
 */
export async function saveFile(
  path: string,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  { overwrite, isSecret = false }: SaveFileOptions,
): Promise<number> {
  // This check avoids a useless download. The check that counts is below.
  if (!overwrite && existsSync(path)) throw existsAlready(path);
  // The name does not contain that of the file, because together they might be too long.
  const temporary = join(dirname(path), `.qstamp-${randomUUID()}.tmp`);
  const release = removeOnExit(temporary);
  let isPlaced = false;
  try {
    const file = await open(temporary, 'wx', isSecret ? 0o600 : 0o666);
    let bytes = 0;
    try {
      for await (const chunk of chunks) {
        await file.writeFile(chunk);
        bytes += chunk.length;
      }
      await file.sync();
    } finally {
      await file.close();
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
    release();
  }
}

const existsAlready = (path: string) => Object.assign(new Error(`EEXIST: file already exists, open '${path}'`), { code: 'EEXIST' });

const unfinished = new Set<string>();
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function removeUnfinished(): void {
  for (const path of unfinished) rmSync(path, { force: true });
}

function endBySignal(signal: NodeJS.Signals): void {
  removeUnfinished();
  for (const each of signals) process.off(each, endBySignal);
  // Ends this process as if it had not handled the signal, so that a shell sees why.
  process.kill(process.pid, signal);
}

/** Removes a file if the process ends before the returned function is called. */
function removeOnExit(path: string): () => void {
  if (unfinished.size === 0) {
    for (const each of signals) process.on(each, endBySignal);
    process.on('exit', removeUnfinished);
  }
  unfinished.add(path);
  return () => {
    unfinished.delete(path);
    if (unfinished.size > 0) return;
    for (const each of signals) process.off(each, endBySignal);
    process.off('exit', removeUnfinished);
  };
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
  try {
    await saveFile(path, [Buffer.from(`${JSON.stringify(value, null, 2)}\n`)], options);
  } catch (error) {
    const failure = asFailure(error);
    throw failure instanceof CommandFailure ? new CommandFailure(exitCodes.file, `${what}, in ${path}: ${failure.message}`) : failure;
  }
}
