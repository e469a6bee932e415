import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { crc32 } from 'node:zlib';
import { containerOf } from '../../shared/archive/asics.ts';
import type { Imprint } from '../../shared/domain/stamp.ts';
import { hexImprintOf } from '../../shared/domain/token.ts';
import { isEvidenceRecord } from '../../shared/rfc3161/index.ts';
import { openTrust } from '../anchors.ts';
import type { Context, Program } from '../command.ts';
import { CommandFailure, exitCodes, misuse } from '../failure.ts';
import { judgeSubject } from '../judge.ts';
import { saveFile, standardInput } from '../local-files.ts';
import { findSubject } from '../operands.ts';
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
    const target = `${path}.asics`;
    if (existsSync(target)) throw new CommandFailure(exitCodes.file, `${target} already exists; nothing is packed`);
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
    const proof = subject.token && isEvidenceRecord(subject.token) ? subject.token : stated.token;
    await writeContainer(target, { path, imprint: hexImprintOf(stated) }, proof, onBytes);
    terminal.done('packed', { file: path, container: target }, `${path}: packed with its stamp as ${target}`);
  }

  await forEachFile(files, terminal, packOne);
}

/**
 * Writes a file and the time-stamp token or evidence record over it as an ASiC-S container (EN 319 162-1 §4.3): `mimetype` first, nothing compressed.
 * The file is read twice, because its CRC-32 is written before its content. After a failure there is no target. An existing target is not changed.
 *
 * @throws CommandFailure if the file differs from the verified file; errors of the file system, for example if the target exists
 */
export async function writeContainer(
  target: string,
  { path, imprint }: { readonly path: string; readonly imprint: Imprint },
  proof: Buffer,
  onBytes: OnBytes = () => undefined,
): Promise<void> {
  const name = basename(path);
  if (name === 'mimetype' || /\\|^[a-z]:/i.test(name)) {
    throw new CommandFailure(exitCodes.file, 'readers of containers refuse a file with this name; nothing is packed');
  }
  await using file = await open(path, 'r');
  async function* container() {
    yield* containerOf({ name, ...(await checksumOf(file, imprint, onBytes)), octets: octetsOf(file, imprint, onBytes) }, proof);
  }
  await saveFile(target, container(), { overwrite: false });
}

type OnBytes = (count: number) => void;

async function checksumOf(file: FileHandle, imprint: Imprint, onBytes: OnBytes): Promise<{ size: number; crc32: number }> {
  const sum = { size: 0, crc32: 0 };
  for await (const chunk of octetsOf(file, imprint, onBytes)) {
    sum.size += chunk.length;
    sum.crc32 = crc32(chunk, sum.crc32);
  }
  return sum;
}

/** The bytes of an open file. @throws CommandFailure at the end if they differ from the verified bytes */
async function* octetsOf(file: FileHandle, { algorithm, digest }: Imprint, onBytes: OnBytes): AsyncGenerator<Buffer> {
  const hash = createHash(algorithm);
  for await (const chunk of file.createReadStream({ autoClose: false, start: 0 })) {
    hash.update(chunk);
    onBytes(chunk.length);
    yield chunk;
  }
  if (hash.digest('hex') !== digest) throw new CommandFailure(exitCodes.file, 'the file changed while it was packed; nothing is packed');
}
