import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { StampToken } from '../shared/contract/stamp.ts';
import type { StampTier } from '../shared/domain/tiers.ts';
import type { Client } from './client.ts';
import { CommandFailure, type ExitCode, exitCodes } from './failure.ts';
import { hashFile } from './hash-file.ts';
import { saveJson } from './json-file.ts';
import { isRecordPath, readRecord, recordPathOf, type StampRecord } from './stamp-record.ts';
import { forEachAtMost, readableSize, type Terminal, worstOf } from './terminal.ts';

export interface StampCommand {
  readonly files: readonly string[];
  readonly tier: StampTier;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  /** Whether a stamp that is there already is replaced by the new one. */
  readonly force: boolean;
}

/** Files that are read and stamped at a time. */
const mostAtATime = 4;
/** Content is sent in one body; what is larger than this could not be put into one text. */
const mostContentBytes = 256 * 1024 * 1024;

/** Stamps each file and saves the stamp beside it. A file whose stamp is there already keeps it: the older one proves more. */
export async function stampFiles(command: StampCommand, client: Client, terminal: Terminal): Promise<ExitCode> {
  const { tier, metadata, force } = command;
  const files = [...new Set(command.files)];
  const codes: ExitCode[] = [];
  let bytesRead = 0;
  const showProgress = () => terminal.progress(`${codes.length} of ${files.length} files, ${readableSize(bytesRead)} read`);
  const onBytes = (count: number) => {
    bytesRead += count;
    showProgress();
  };

  async function stampFile(path: string): Promise<void> {
    if (isRecordPath(path)) throw new CommandFailure(exitCodes.file, 'this is a stamp already');
    const recordPath = recordPathOf(path);
    const { sha256, bytes } = await hashFile(path, onBytes);
    const existing = force ? undefined : await readRecord(recordPath);
    if (existing) return keep(path, recordPath, sha256, existing);
    const given = tier === 'sealed' ? { content_b64: await readContent(path, bytes) } : { hash: sha256 };
    const stamp = await client.stamp({ ...given, tier, ...(metadata && { metadata }) }, randomUUID());
    if (stamp.content_sha256 !== sha256) {
      throw new CommandFailure(exitCodes.file, 'the file changed while it was stamped');
    }
    const record: StampRecord = { qstamp: 1, kind: 'stamp', file: basename(path), bytes, sha256, service: client.baseUrl, stamp };
    await saveJson(recordPath, record, {
      overwrite: force,
      what: `the stamp ${stamp.token_id} was made but not saved`,
      isSecret: stamp.sealed_storage_url !== null,
    });
    terminal.result({ file: path, saved: recordPath, sha256, stamp }, `${path}: ${describe(stamp)}, saved as ${recordPath}`);
  }

  function keep(path: string, recordPath: string, sha256: string, record: StampRecord): void {
    if (record.sha256 !== sha256) {
      throw new CommandFailure(exitCodes.file, `${recordPath} is the stamp of another content; --force replaces it`);
    }
    const stamp = record.kind === 'stamp' ? record.stamp : undefined;
    terminal.result(
      { file: path, saved: recordPath, sha256, already_stamped: true, ...(stamp && { stamp }) },
      `${path}: stamped before${stamp ? ` at ${stamp.issued_at}` : ' in a workflow'}, see ${recordPath}`,
    );
  }

  showProgress();
  await forEachAtMost(mostAtATime, files, async (path) => {
    try {
      await stampFile(path);
      codes.push(exitCodes.ok);
    } catch (error) {
      codes.push(terminal.problem(path, error));
    }
    if (codes.length < files.length) showProgress();
  });
  return worstOf(codes);
}

async function readContent(path: string, bytes: number): Promise<string> {
  if (bytes > mostContentBytes) {
    throw new CommandFailure(exitCodes.file, `tier sealed uploads the content, and ${readableSize(bytes)} are too many`);
  }
  return (await readFile(path)).toString('base64');
}

const describe = ({ issued_at, tsp_provider, is_qualified }: StampToken): string =>
  `stamped at ${issued_at} by ${tsp_provider} (${is_qualified ? 'qualified' : 'not qualified'})`;
