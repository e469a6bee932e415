import { stat } from 'node:fs/promises';
import type { VerificationResult } from '../shared/contract/verify.ts';
import { reasonOf } from '../shared/domain/reasons.ts';
import type { Client } from './client.ts';
import { CommandFailure, type ExitCode, exitCodes } from './failure.ts';
import { hashFile } from './hash-file.ts';
import { isRecordPath, readRecord, recordPathOf, type StampRecord, stampedPathOf } from './stamp-record.ts';
import { readableSize, type Terminal, worstOf } from './terminal.ts';

const uuidPattern = /^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
/** A token is longer than most names, and canonical base64. */
const tokenPattern = /^[A-Za-z0-9+/]{40,}={0,2}$/;

/** Verifies each subject: a file by the stamp beside it, a stamp record, an id, or a token as text. */
export async function verifySubjects(subjects: readonly string[], client: Client, terminal: Terminal): Promise<ExitCode> {
  const codes: ExitCode[] = [];
  for (const subject of subjects) {
    try {
      const result = await verifySubject(subject, client, terminal);
      const name = subject.length > 80 ? `${subject.slice(0, 77)}...` : subject;
      terminal.result({ subject, ...result }, `${name}: ${describe(result)}`);
      codes.push(result.valid ? exitCodes.ok : exitCodes.notValid);
    } catch (error) {
      codes.push(terminal.problem(subject, error));
    }
  }
  return worstOf(codes);
}

async function verifySubject(subject: string, client: Client, terminal: Terminal): Promise<VerificationResult> {
  if (await exists(subject)) return verifyFile(subject, client, terminal);
  if (uuidPattern.test(subject)) return client.verifyById(subject);
  if (tokenPattern.test(subject)) return client.verifyToken(subject);
  throw new CommandFailure(exitCodes.file, 'there is no such file, and this is neither an id nor a token');
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

/** The file is hashed anew: what the record says about it counts for nothing. */
async function verifyFile(path: string, client: Client, terminal: Terminal): Promise<VerificationResult> {
  const [filePath, recordPath] = isRecordPath(path) ? [stampedPathOf(path), path] : [path, recordPathOf(path)];
  const record = await readRecord(recordPath);
  if (!record) throw new CommandFailure(exitCodes.file, `there is no stamp beside it (${recordPath})`);
  let bytesRead = 0;
  const { sha256 } = await hashFile(filePath, (count) => {
    bytesRead += count;
    terminal.progress(`${filePath}: ${readableSize(bytesRead)} read`);
  });
  const result = await verifyRecord(record, sha256, client);
  if (!result.valid || result.content_sha256 === sha256) return result;
  return { ...result, valid: false, reason: reasonOf('imprint_mismatch') };
}

function verifyRecord(record: StampRecord, sha256: string, client: Client): Promise<VerificationResult> {
  return record.kind === 'stamp' ? client.verifyToken(record.stamp.token, sha256) : client.verifyById(record.output.stamp_token_id);
}

function describe({ valid, issued_at, tsp_provider, is_qualified, reason }: VerificationResult): string {
  if (!valid) return `NOT VALID, ${reason ?? 'no reason given'}`;
  return `valid, existed at ${issued_at} (${[tsp_provider, is_qualified ? 'qualified' : 'not qualified'].filter(Boolean).join(', ')})`;
}
