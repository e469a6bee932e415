import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createInflateRaw } from 'node:zlib';
import { ZipFault, type ZipSource } from '../shared/proof/zip-source.js';
import { asFailure, CommandFailure, exitCodes } from './failure.ts';

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
