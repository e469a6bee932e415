import { readFile } from 'node:fs/promises';
import { asFailure, CommandFailure, exitCodes } from './failure.ts';
import { type SaveFileOptions, saveFile } from './save-file.ts';

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
