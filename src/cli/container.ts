import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createInflateRaw } from 'node:zlib';
import * as asics from '../shared/proof/asics.js';
import { ZipFault, type ZipSource } from '../shared/proof/zip-source.js';
import { asFailure, CommandFailure, exitCodes } from './failure.ts';

export const isContainerPath = (path: string): boolean => /\.(asics|scs)$/i.test(path);

/**
 * Opens an ASiC-S container with a time-stamp token or an evidence record (EN 319 162-1 §4.3), calls `use` with it, and closes it. This command or
 * another program may have made it. Memory does not grow with the size of the file.
 *
 * @throws CommandFailure with the fault in one sentence
 */
export async function withContainer<Result>(path: string, use: (container: asics.Container) => Promise<Result>): Promise<Result> {
  try {
    return await withZip(path, async (source) => use(await asics.openContainer(source, inflate)));
  } catch (error) {
    throw asZipFailure('an ASiC-S container', error);
  }
}

/** Opens a file for the zip reader in `shared/proof`, calls `use` with it, and closes it. */
export async function withZip<Result>(path: string, use: (source: ZipSource) => Promise<Result>): Promise<Result> {
  await using file = await open(path, 'r');
  const { size } = await file.stat();
  const read = async (at: number, length: number) => {
    const octets = Buffer.alloc(length);
    let done = 0;
    for (let read = -1; done < length && read !== 0; done += read)
      ({ bytesRead: read } = await file.read(octets, done, length - done, at + done));
    return octets.subarray(0, done);
  };
  return await use({ size, read });
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
