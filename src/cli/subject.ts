import { open, stat } from 'node:fs/promises';
import { looksLikeMockToken } from '../shared/domain/mock-token.ts';
import { bytesOfTokenText } from '../shared/domain/token-text.ts';
import { standardInput } from './digest-input.ts';
import { CommandFailure, exitCodes, misuse } from './failure.ts';
import {
  isStampRecordPath,
  readStampRecord,
  type StampRecord,
  stampedPathOf,
  stampIdIn,
  stampRecordPathOf,
  tokenIn,
} from './stamp-record.ts';

/** A subject of `qstamp verify`. */
export interface Subject {
  /** The file to compare with the token, `-` for standard input; undefined: verify only the token. */
  readonly input: string | undefined;
  /** Undefined if only an id is known. */
  readonly token: Buffer | undefined;
  readonly stampId: string | undefined;
  /** The record about the file, which proves nothing. */
  readonly record: StampRecord | undefined;
  /** Other entries in the token's container, which are not verified. */
  readonly unread?: readonly string[];
}

const uuidPattern = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
/** A token is longer than most names. */
const leastTokenBytes = 30;
/** Every DER structure of RFC 3161 starts with a SEQUENCE. */
const sequenceTag = 0x30;
/** Names of a TimeStampResp (RFC 3161 §3.2), of a bare token, and of an EvidenceRecord (RFC 4998). */
const tokenSuffixes = ['.tsr', '.tst', '.ers'];
const mostTokenBytes = 2 * 1024 * 1024;

/**
 * Finds the token of a subject: beside a file, in a record or a token file, or in the subject itself.
 *
 * @param given the value of `--token`: a record, a token file, or base64
 * @throws CommandFailure if there is none
 */
export async function findSubject(subject: string, given: string | undefined): Promise<Subject> {
  if (given !== undefined) {
    if (subject !== standardInput && !(await exists(subject))) throw noSuchFile();
    return { ...(await readProof(given)), input: subject };
  }
  if (subject === standardInput) throw misuse('standard input needs --token with its stamp');
  if (await exists(subject)) return findBeside(subject);
  if (uuidPattern.test(subject)) return { input: undefined, token: undefined, stampId: subject, record: undefined };
  const token = tokenOf(subject);
  if (token !== undefined) return { ...tokenOnly(token), input: undefined };
  throw new CommandFailure(exitCodes.file, 'there is no such file, and this is neither an id nor a token');
}

const noSuchFile = () => new CommandFailure(exitCodes.file, 'there is no such file');

/** A record or token file belongs to the file with the same name without the suffix. Any other file has one of them beside it. */
async function findBeside(path: string): Promise<Subject> {
  if (isStampRecordPath(path)) {
    const input = stampedPathOf(path);
    if (!(await exists(input))) throw new CommandFailure(exitCodes.file, `the stamped file is not beside it (${input})`);
    return { ...(await readProof(path)), input };
  }
  const suffix = tokenSuffixes.find((end) => path.toLowerCase().endsWith(end));
  if (suffix !== undefined) {
    const input = path.slice(0, -suffix.length);
    return { ...(await readProof(path)), input: (await exists(input)) ? input : undefined };
  }
  const beside = await stampBeside(path);
  if (beside !== undefined) return { ...(await readProof(beside)), input: path };
  throw new CommandFailure(exitCodes.file, `there is no stamp beside it (${stampRecordPathOf(path)})`);
}

/** The stamp beside a file; undefined if there is none. */
export async function stampBeside(path: string): Promise<string | undefined> {
  for (const beside of [stampRecordPathOf(path), ...tokenSuffixes.map((end) => `${path}${end}`)]) if (await exists(beside)) return beside;
  return undefined;
}

type FoundProof = Omit<Subject, 'input'>;

const tokenOnly = (token: Buffer): FoundProof => ({ token, stampId: undefined, record: undefined });

async function readProof(given: string): Promise<FoundProof> {
  if (!(await exists(given))) {
    const token = tokenOf(given);
    if (token !== undefined) return tokenOnly(token);
    throw new CommandFailure(exitCodes.file, `${given}: there is no such file, and this is not a token`);
  }
  const record = isStampRecordPath(given) ? await readStampRecord(given) : undefined;
  if (record === undefined) return tokenOnly(await readTokenFile(given));
  const token = tokenIn(record);
  // Text that is not base64 is passed on as bytes, and verification refuses it.
  return { token: token === null ? undefined : (bytesOfTokenText(token) ?? Buffer.from(token)), stampId: stampIdIn(record), record };
}

/** Decodes a token; undefined if the text is too short or not base64. A text that may be a file name must also look like a token. */
function tokenOf(text: string): Buffer | undefined {
  const token = bytesOfTokenText(text);
  if (token === undefined || token.length < leastTokenBytes) return undefined;
  const mayBeName = /[-_ ]/.test(text);
  return !mayBeName || token[0] === sequenceTag || looksLikeMockToken(token) ? token : undefined;
}

/** Reads a file with DER, or with base64 of DER. */
async function readTokenFile(path: string): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    if ((await file.stat()).size > mostTokenBytes) throw new CommandFailure(exitCodes.file, `${path} is too large for a token`);
    const bytes = await file.readFile();
    return tokenOf(bytes.toString('latin1')) ?? bytes;
  } finally {
    await file.close();
  }
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
