import { createHash } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { Imprint } from '../shared/domain/stamp.ts';
import { isRecord } from '../shared/rfc3161/index.ts';
import { containerType, proofEntries } from './container-read.ts';
import { CommandFailure, exitCodes } from './failure.ts';

/** The same for every entry, so that the same file and token give the same bytes anywhere: DOS time has no zone. */
const entryOptions = { mtime: new Date(1980, 0, 1), mode: 0o100644, compress: false, forceDosTimestamp: true };

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
  const zip = new ZipFile();
  const failed = Promise.withResolvers<never>();
  zip.once('error', failed.reject);
  content.stream.once('error', failed.reject);
  zip.addBuffer(Buffer.from(containerType), 'mimetype', entryOptions);
  zip.addReadStream(content.stream, name, { ...entryOptions, size: content.size });
  zip.addBuffer(proof, isRecord(proof) ? proofEntries.record : proofEntries.token, entryOptions);
  zip.end();
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
