import { existsSync } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { looksLikeMockToken } from '../shared/domain/mock-token.ts';
import { bytesOfTokenText } from '../shared/domain/token.ts';
import { CommandFailure, exitCodes, misuse } from './failure.ts';
import { standardInput } from './local-files.ts';
import {
  isStampRecordPath,
  isWorkflowFile,
  readStampRecord,
  type StampRecord,
  stampedPathOf,
  stampIdIn,
  stampRecordPathOf,
  tokenOfRecord,
  workflowFileName,
} from './records.ts';
import { forEachFile, type Terminal } from './terminal.ts';

/** The rule of `filesOf`, for the help of the commands that take folders. */
export const folderRule =
  'A folder means all files in it and its subfolders, sorted by path, except hidden files and folders, symbolic links, ' +
  'files that hold a workflow token, and stamps: *.qstamp.json, and FILE.tsr, FILE.tst, FILE.ers and FILE.asics beside FILE.';

/** The same for the commands that stamp. */
export const stampedFolderRule = `${folderRule} Evidence bundles (workflow-ID.zip) are left out too.`;

/** The name that "qstamp workflow bundle" gives. */
export const bundleName = /^workflow-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.zip$/i;

type IsWhole = (folder: string) => boolean;

interface OperandFiles {
  readonly files: string[];
  /** Those of `files` that the user did not name. */
  readonly inFolders: ReadonlySet<string>;
}

/**
 * Replaces each folder among the operands by its files, see `folderRule`. Other operands are returned as they are, in the given order. A folder that
 * has no such file or cannot be read is reported as a problem.
 *
 * @param isWhole given if evidence bundles count. A folder for which it is true stays one name
 */
export async function filesOf(operands: readonly string[], terminal: Terminal, isWhole?: IsWhole): Promise<OperandFiles> {
  const files: string[] = [];
  const inFolders = new Set<string>();
  await forEachFile(operands, terminal, async (operand) => {
    const isOne = isWhole?.(operand) || !(await isFolder(operand));
    for (const path of isOne ? [operand] : await filesIn(operand, isWhole)) {
      files.push(path);
      if (!isOne) inFolders.add(path);
    }
  });
  return { files, inFolders };
}

/** Anything that is not a folder, for example a token or a file that does not exist, is judged later. */
const isFolder = async (operand: string): Promise<boolean> =>
  operand !== standardInput && ((await stat(operand).catch(() => undefined))?.isDirectory() ?? false);

async function filesIn(folder: string, isWhole: IsWhole | undefined): Promise<string[]> {
  const isLeftOut = (path: string) =>
    isStampRecordPath(path) || isStampOfFileBeside(path) || (isWhole === undefined && bundleName.test(basename(path)));
  const files = (await Array.fromAsync(everyFileIn(folder, isWhole))).filter((path) => !isLeftOut(path));
  if (files.length === 0)
    throw new CommandFailure(
      exitCodes.file,
      `no file in this folder (hidden files, links${isWhole ? ' and stamps' : ', stamps and evidence bundles'} do not count)`,
    );
  return files.sort();
}

async function* everyFileIn(folder: string, isWhole: IsWhole | undefined): AsyncGenerator<string> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.name.startsWith('.') || entry.name === workflowFileName) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory() && isWhole?.(path)) yield path;
    else if (entry.isDirectory()) yield* everyFileIn(path, isWhole);
    // A workflow file of another name holds a secret too, and nobody means it when naming its folder.
    else if (entry.isFile() && !(await isWorkflowFile(path))) yield path;
  }
}

/** The file, token or id that a name on the command line of `qstamp verify` means, with its stamp. */
export interface VerifySubject {
  /** The file to compare with the token; `-` is standard input. Undefined: only the token is verified. */
  readonly input?: string | undefined;
  readonly token?: Buffer | undefined;
  readonly stampId?: string | undefined;
  /** The stamp record beside the file. It alone proves nothing. */
  readonly record?: StampRecord;
  /** The names of other entries in the token's container. They are not verified. */
  readonly unread?: readonly string[];
}

const uuidPattern = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
/** The minimum size of a token in bytes; shorter texts are taken as names. */
const leastTokenBytes = 30;
/** Every DER structure of RFC 3161 starts with a SEQUENCE. */
const sequenceTag = 0x30;
/** File name suffixes of a TimeStampResp (RFC 3161 §3.2), a token alone, and an EvidenceRecord (RFC 4998). */
const tokenSuffixes = ['.tsr', '.tst', '.ers'];
const mostTokenBytes = 2 * 1024 * 1024;

/**
 * Finds the stamp for a name on the command line: beside a file, in a stamp record or token file, or in the name itself if it is a token or an id.
 *
 * @param given the value of `--token`: a stamp record, a token file, or a token in base64
 * @throws CommandFailure if no stamp is found
 */
export async function findSubject(subject: string, given: string | undefined): Promise<VerifySubject> {
  if (given !== undefined) {
    if (subject !== standardInput && !(await exists(subject))) throw new CommandFailure(exitCodes.file, 'there is no such file');
    return { ...(await readProof(given)), input: subject };
  }
  if (subject === standardInput) throw misuse('standard input needs --token with its stamp');
  if (await exists(subject)) return findBeside(subject);
  if (uuidPattern.test(subject)) return { stampId: subject };
  const token = tokenOf(subject);
  if (token !== undefined) return { token };
  throw new CommandFailure(exitCodes.file, 'there is no such file, and this is neither an id nor a token');
}

/**
 * Finds the stamp for an existing file. A stamp record or token file belongs to the file with the same name without the suffix. For any other file,
 * the stamp must be beside it.
 */
async function findBeside(path: string): Promise<VerifySubject> {
  if (isStampRecordPath(path)) {
    const proof = await readProof(path);
    const { file } = proof.record ?? { file: '' };
    // `placeOfEarlier` puts a word behind the name of the file.
    const isEarlier = basename(path).startsWith(`${basename(file)}.`) && !(await exists(stampedPathOf(path)));
    const input = isEarlier ? join(dirname(path), basename(file)) : stampedPathOf(path);
    if (!(await exists(input))) throw new CommandFailure(exitCodes.file, `the stamped file is not beside it (${input})`);
    return { ...proof, input };
  }
  const suffix = tokenSuffixes.find((end) => path.toLowerCase().endsWith(end));
  if (suffix !== undefined) {
    const input = path.slice(0, -suffix.length);
    return { ...(await readProof(path)), input: (await exists(input)) ? input : undefined };
  }
  const beside = await stampBeside(path);
  if (beside !== undefined) return { ...(await readProof(beside)), input: path };
  throw new CommandFailure(
    exitCodes.file,
    `there is no stamp beside it (${stampRecordPathOf(path)})`,
    {},
    { command: '"qstamp stamp FILE" makes one, --token names another', tool: 'stamp_files makes one' },
  );
}

export async function stampBeside(path: string): Promise<string | undefined> {
  for (const beside of stampsBeside(path)) if (await exists(beside)) return beside;
  return undefined;
}

/** The paths where the stamp of a file may be. */
export const stampsBeside = (path: string): string[] => [stampRecordPathOf(path), ...tokenSuffixes.map((end) => `${path}${end}`)];

/** Whether a path is that of a token or container for the file beside it, for example `a.tsr` or `a.asics` beside `a`. */
function isStampOfFileBeside(path: string): boolean {
  const suffix = [...tokenSuffixes, '.asics'].find((end) => path.toLowerCase().endsWith(end));
  return suffix !== undefined && existsSync(path.slice(0, -suffix.length));
}

async function readProof(given: string): Promise<Omit<VerifySubject, 'input'>> {
  if (!(await exists(given))) {
    const token = tokenOf(given);
    if (token !== undefined) return { token };
    throw new CommandFailure(exitCodes.file, `${given}: there is no such file, and this is not a token`);
  }
  const record = isStampRecordPath(given) ? await readStampRecord(given) : undefined;
  if (record === undefined) return { token: await readTokenFile(given) };
  const token = tokenOfRecord(record);
  // Text that is not base64 is passed on unchanged, and verification refuses it.
  return { token: token === null ? undefined : (bytesOfTokenText(token) ?? Buffer.from(token)), stampId: stampIdIn(record), record };
}

/** Decodes a token. Returns undefined if the text is too short or not base64, or if it may be a file name and does not start like a token. */
function tokenOf(text: string): Buffer | undefined {
  const token = bytesOfTokenText(text);
  if (token === undefined || token.length < leastTokenBytes) return undefined;
  const mayBeName = /[-_ ]/.test(text);
  return !mayBeName || token[0] === sequenceTag || looksLikeMockToken(token) ? token : undefined;
}

async function readTokenFile(path: string): Promise<Buffer> {
  await using file = await open(path, 'r');
  if ((await file.stat()).size > mostTokenBytes) throw new CommandFailure(exitCodes.file, `${path} is too large for a token`);
  const bytes = await file.readFile();
  // `bytesOfTokenText` takes a byte order mark for white space.
  return tokenOf(bytes.toString('utf8')) ?? bytes;
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(String(error.code))) return false;
    throw error;
  }
}
