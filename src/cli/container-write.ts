import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { crc32 } from 'node:zlib';
import { containerOf } from '../shared/archive/asics.ts';
import type { Imprint } from '../shared/domain/stamp.ts';
import { CommandFailure, exitCodes } from './failure.ts';
import { saveFile } from './save-file.ts';

/** A verified file to pack. */
interface JudgedFile {
  readonly path: string;
  readonly imprint: Imprint;
}

/**
 * Writes a file and the time-stamp token or evidence record over it as an ASiC-S container (EN 319 162-1 §4.3): `mimetype` first, nothing compressed.
 * The file is read twice, because its CRC-32 is written before its content. After a failure there is no target. An existing target is not changed.
 *
 * @throws CommandFailure if the file differs from the verified file; errors of the file system, for example if the target exists
 */
export async function writeContainer(target: string, { path, imprint }: JudgedFile, proof: Buffer, onBytes?: OnBytes): Promise<void> {
  const name = basename(path);
  if (name === 'mimetype' || /\\|^[a-z]:/i.test(name)) {
    throw new CommandFailure(exitCodes.file, 'readers of containers refuse a file with this name; nothing is packed');
  }
  const file = await open(path, 'r');
  try {
    async function* container() {
      yield* containerOf({ name, ...(await checksumOf(file, imprint, onBytes)), octets: octetsOf(file, imprint, onBytes) }, proof);
    }
    await saveFile(target, container(), { overwrite: false });
  } finally {
    await file.close();
  }
}

type OnBytes = ((count: number) => void) | undefined;

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
    onBytes?.(chunk.length);
    yield chunk;
  }
  if (hash.digest('hex') !== digest) throw new CommandFailure(exitCodes.file, 'the file changed while it was packed; nothing is packed');
}
