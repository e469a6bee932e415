import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { asFailure, CommandFailure, exitCodes } from './failure.ts';

/** Parses a JSON text. Returns undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
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

export interface SaveOptions {
  readonly overwrite: boolean;
  /** The start of the error message if the file cannot be saved: what the user loses. */
  readonly what: string;
  /** True if only the owner may read the file. */
  readonly isSecret?: boolean;
}

/**
 * Writes JSON to disk. With `overwrite` an existing file is replaced in one step; otherwise it is an error.
 *
 * @throws CommandFailure with `what` and the reason
 */
export async function saveJson(path: string, value: object, { overwrite, what, isSecret = false }: SaveOptions): Promise<void> {
  const target = overwrite ? `${path}.${randomUUID()}.tmp` : path;
  try {
    await writeFile(target, `${JSON.stringify(value, null, 2)}\n`, { flag: 'wx', mode: isSecret ? 0o600 : 0o666, flush: true });
    if (overwrite) await rename(target, path);
  } catch (error) {
    if (overwrite) await rm(target, { force: true });
    const failure = asFailure(error);
    throw failure instanceof CommandFailure ? new CommandFailure(exitCodes.file, `${what}, in ${path}: ${failure.message}`) : failure;
  }
}
