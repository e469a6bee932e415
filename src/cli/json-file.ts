import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { asFailure, CommandFailure, exitCodes } from './failure.ts';

/** The value of a JSON text; undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text of a file; undefined where there is none. */
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
  /** What is lost when it cannot be saved, in words for the failure. */
  readonly what: string;
  /** Only the owner may read it. */
  readonly isSecret?: boolean;
}

/** Writes JSON to disk; what it overwrites is replaced as a whole. @throws CommandFailure that says what was not saved, and why. */
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
