import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { standardInput } from './digest-input.ts';
import { CommandFailure, exitCodes } from './failure.ts';
import { isStampRecordPath } from './stamp-record.ts';
import { isStampOfFileBeside } from './subject.ts';
import type { Terminal } from './terminal.ts';
import { isWorkflowFile, workflowFileName } from './workflow-file.ts';

/** The rule of `filesOf`, for the help of the commands that take folders. */
export const folderRule =
  'A folder means all files in it and its subfolders, sorted by path, except hidden files and folders, symbolic links, ' +
  'files that hold a workflow token, and stamps: *.qstamp.json, and FILE.tsr, FILE.tst, FILE.ers and FILE.asics beside FILE.';

/** Whether a folder is judged as a whole, and not file by file. */
type IsWhole = (folder: string) => boolean;

interface OperandFiles {
  readonly files: string[];
  /** Those of `files` that the user did not name. */
  readonly inFolders: ReadonlySet<string>;
}

/**
 * Replaces each folder among the operands by its files, see `folderRule`. Other operands are returned as they are, in the given order. A folder that
 * has no such file or cannot be read is reported as a problem. A folder for which `isWhole` is true stays one name.
 */
export async function filesOf(operands: readonly string[], terminal: Terminal, isWhole: IsWhole = () => false): Promise<OperandFiles> {
  const files: string[] = [];
  const inFolders = new Set<string>();
  for (const operand of operands) {
    try {
      if ((await isFolder(operand)) && !isWhole(operand)) {
        for (const path of await filesIn(operand, isWhole)) {
          files.push(path);
          inFolders.add(path);
        }
      } else files.push(operand);
    } catch (error) {
      terminal.problem(operand, error);
    }
  }
  return { files, inFolders };
}

/** Anything that is not a folder, for example a token or a file that does not exist, is judged later. */
const isFolder = async (operand: string): Promise<boolean> =>
  operand !== standardInput && ((await stat(operand).catch(() => undefined))?.isDirectory() ?? false);

async function filesIn(folder: string, isWhole: IsWhole): Promise<string[]> {
  const files = (await Array.fromAsync(everyFileIn(folder, isWhole))).filter(
    (path) => !isStampRecordPath(path) && !isStampOfFileBeside(path, existsSync),
  );
  if (files.length === 0) throw new CommandFailure(exitCodes.file, 'no file in this folder (hidden files, links and stamps do not count)');
  return files.sort();
}

async function* everyFileIn(folder: string, isWhole: IsWhole): AsyncGenerator<string> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.name.startsWith('.') || entry.name === workflowFileName) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory() && isWhole(path)) yield path;
    else if (entry.isDirectory()) yield* everyFileIn(path, isWhole);
    // A workflow file of another name holds a secret too, and nobody means it when naming its folder.
    else if (entry.isFile() && !(await isWorkflowFile(path))) yield path;
  }
}
