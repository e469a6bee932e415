import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { asFailure, CommandFailure, exitCodes } from './failure.ts';

/** The value of a JSON text; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text of a file; undefined if there is no such file. */
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
  /** Words for the failure: the loss if the file cannot be saved. */
  readonly what: string;
  /** Only the owner may read it. */
  readonly isSecret?: boolean;
}

/** Writes JSON to disk. An existing file is replaced in one step. @throws CommandFailure that names the loss and the reason. */
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
