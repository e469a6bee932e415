import { stat } from 'node:fs/promises';
import { imprintOf } from '../../shared/domain/token.ts';
import { isEvidenceRecord } from '../../shared/rfc3161/index.ts';
import { openTrust } from '../anchors.ts';
import type { Context, Program } from '../command.ts';
import { writeContainer } from '../container.ts';
import { standardInput } from '../digest-input.ts';
import { CommandFailure, exitCodes, misuse } from '../failure.ts';
import { judgeSubject } from '../judge.ts';
import { findSubject } from '../subject.ts';
import { forEachFile } from '../terminal.ts';
import { exitCodeOf } from '../verdict-text.ts';

export function addPackCommand(program: Program, context: Context): void {
  program
    .command('pack')
    .description(
      'put each file and its stamp into one container, FILE.asics, which other verifiers can read too\n\n' +
        'An ASiC-S container (EN 319 162-1) is a zip file with the file and its time-stamp token. The file must be ' +
        'the one that was stamped. The receiver of the container decides whether to trust the stamp.',
    )
    .argument('<FILE...>')
    .option('--token <FILE|TOKEN>', 'the stamp of the one FILE, if it is not beside it')
    .action((files, { token }) => packFiles(files, token, context));
}

async function packFiles(files: readonly string[], token: string | undefined, { terminal, stdin, anchorsFolder }: Context): Promise<void> {
  if (token !== undefined && files.length > 1) throw misuse('--token is the stamp of one file');
  if (files.includes(standardInput)) throw misuse('standard input cannot be packed');
  const trust = await openTrust(anchorsFolder);

  async function packOne(path: string): Promise<void> {
    if ((await stat(path)).isDirectory()) throw new CommandFailure(exitCodes.file, 'this is a folder; pack takes files');
    const subject = await findSubject(path, token);
    const advance = terminal.track(path);
    let bytes = 0;
    // The file is read three times: to judge its stamp, for its CRC-32, and to pack it.
    const onBytes = (count: number, total = bytes) => {
      bytes = total;
      advance(count, 3 * total);
    };
    const context = { trust, lists: undefined, client: undefined, stdin, onBytes, nowMs: Date.now() };
    const { verdict, stated, reason } = await judgeSubject({ ...subject, input: path }, context);
    if (verdict === 'not_valid')
      throw new CommandFailure(exitCodes.notValid, 'its stamp is not valid, or is for another file; nothing is packed');
    if (!stated) {
      const why = reason === 'no_token' ? 'its stamp has no time-stamp token' : 'its stamp could not be checked';
      throw new CommandFailure(exitCodeOf(verdict, reason), `${why}; nothing is packed`);
    }
    const target = `${path}.asics`;
    try {
      const proof = subject.token && isEvidenceRecord(subject.token) ? subject.token : stated.token;
      await writeContainer(target, { path, imprint: imprintOf(stated) }, proof, onBytes);
    } catch (error) {
      const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST';
      throw isThere ? new CommandFailure(exitCodes.file, `${target} already exists; nothing is packed`) : error;
    }
    terminal.result({ file: path, container: target }, `${path}: packed with its stamp as ${target}`, [], 'valid');
    terminal.count('packed');
  }

  await forEachFile(files, terminal, packOne);
}
