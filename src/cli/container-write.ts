import { createHash } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ZipFile } from 'yazl';
import { createContainer, type EntryOptions } from '../shared/archive/asics.ts';
import type { Imprint } from '../shared/domain/stamp.ts';
import { CommandFailure, exitCodes } from './failure.ts';

/** What is packed, as it was judged. */
export interface JudgedFile {
  readonly path: string;
  readonly imprint: Imprint;
}

/** The octets of an open file. @throws CommandFailure at their end where they are not those that were judged */
async function* octetsOf(file: FileHandle, { algorithm, digest }: Imprint) {
  const hash = createHash(algorithm);
  for await (const chunk of file.createReadStream({ autoClose: false })) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') !== digest) throw new CommandFailure(exitCodes.file, 'the file changed while it was packed; nothing is packed');
}

async function writeZip(to: FileHandle, name: string, content: { stream: Readable; size: number }, proof: Buffer): Promise<void> {
  const failed = Promise.withResolvers<never>();
  content.stream.once('error', failed.reject);
  const addFile = (zip: ZipFile, options: EntryOptions) => zip.addReadStream(content.stream, name, { ...options, size: content.size });
  const zip = createContainer(addFile, proof);
  zip.once('error', failed.reject);
  const stop = new AbortController();
  const written = pipeline(zip.outputStream, to.createWriteStream({ flush: true }), { signal: stop.signal });
  try {
    await Promise.race([written, failed.promise]);
  } catch (error) {
    content.stream.destroy();
    stop.abort();
    await written.catch(() => {});
    throw error;
  }
}

/**
 * Writes a file and the time-stamp token or evidence record over it as an ASiC-S container (EN 319 162-1 §4.3): `mimetype` first, nothing
 * compressed. What cannot be finished is removed; a target that was there already is left as it is.
 *
 * @throws CommandFailure where the file is not the one that was judged; Error as the file system does, also where the target is there
 */
export async function writeContainer(target: string, { path, imprint }: JudgedFile, proof: Buffer): Promise<void> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const container = await open(target, 'wx');
    try {
      await writeZip(container, basename(path), { stream: Readable.from(octetsOf(file, imprint)), size }, proof);
    } catch (error) {
      await rm(target, { force: true });
      throw error;
    }
  } finally {
    await file.close();
  }
}
