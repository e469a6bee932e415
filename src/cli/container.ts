import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { crc32, createInflateRaw } from 'node:zlib';
import { containerOf } from '../shared/archive/asics.ts';
import type { Imprint } from '../shared/domain/stamp.ts';
import * as asics from '../shared/proof/asics.js';
import { ZipFault, type ZipSource } from '../shared/proof/zip-source.js';
import { asFailure, CommandFailure, exitCodes } from './failure.ts';
import { saveFile } from './local-files.ts';

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

export const isContainerPath = (path: string): boolean => /\.(asics|scs)$/i.test(path);

/** Turns an error while reading a container into a CommandFailure with one sentence. */
export const asContainerFault = (error: unknown): unknown => asZipFailure('an ASiC-S container', error);

/**
 * Opens an ASiC-S container with a time-stamp token or an evidence record (EN 319 162-1 §4.3). This command or another program may have made it.
 * Memory does not grow with the size of the file.
 *
 * @throws CommandFailure with the fault in one sentence
 */
export async function openContainer(path: string): Promise<asics.Container & { close(): Promise<void> }> {
  try {
    const source = await openZipSource(path);
    try {
      return { ...(await asics.openContainer(source, inflate)), close: source.close };
    } catch (error) {
      await source.close();
      throw error;
    }
  } catch (error) {
    throw asContainerFault(error);
  }
}

/** Opens a file for the zip reader in `shared/proof`. */
export async function openZipSource(path: string): Promise<ZipSource & { close(): Promise<void> }> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    return {
      size,
      read: async (at, length) => {
        const octets = Buffer.alloc(length);
        let done = 0;
        for (let read = -1; done < length && read !== 0; done += read)
          ({ bytesRead: read } = await file.read(octets, done, length - done, at + done));
        return octets.subarray(0, done);
      },
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

export async function* inflate(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const inflater = createInflateRaw();
  let given = 0;
  const counted = async function* () {
    for await (const piece of packed) {
      given += piece.length;
      yield piece;
    }
  };
  // The loop over `inflater` below throws the same errors.
  pipeline(counted, inflater).catch(() => undefined);
  yield* inflater;
  // The inflater ends after the last block, even if more data follows.
  if (inflater.bytesWritten !== given) throw new Error('there is data after the last block');
}

/**
 * Turns an error while reading a zip file into a CommandFailure with one sentence. `what`: the expected kind of file, for example `an ASiC-S
 * container`.
 */
export function asZipFailure(what: string, error: unknown): unknown {
  return error instanceof ZipFault ? new CommandFailure(exitCodes.notValid, `this is not ${what}: ${error.message}`) : asFailure(error);
}
