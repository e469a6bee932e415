import { createWriteStream } from 'node:fs';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { isRecord } from '../shared/rfc3161/index.ts';
import { containerType, proofEntries } from './container-read.ts';

/** The same for every entry, so that the same file and token give the same bytes anywhere: DOS time has no zone. */
const entryOptions = { mtime: new Date(1980, 0, 1), mode: 0o100644, compress: false, forceDosTimestamp: true };

/**
 * Writes a file and the time-stamp token or evidence record over it as an ASiC-S container (EN 319 162-1 §4.3): `mimetype` first, nothing compressed.
 *
 * @throws Error as the file system does; also where the target is there already
 */
export async function writeContainer(target: string, file: string, proof: Buffer): Promise<void> {
  const zip = new ZipFile();
  zip.addBuffer(Buffer.from(containerType), 'mimetype', entryOptions);
  zip.addFile(file, basename(file), entryOptions);
  zip.addBuffer(proof, isRecord(proof) ? proofEntries.record : proofEntries.token, entryOptions);
  zip.end();
  const failed = Promise.withResolvers<never>();
  zip.once('error', failed.reject);
  await Promise.race([pipeline(zip.outputStream, createWriteStream(target, { flags: 'wx', flush: true })), failed.promise]);
}
