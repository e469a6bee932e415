import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { CommandFailure, exitCodes } from './failure.ts';

/** Octets that are read at a time: the memory that hashing takes, however large the file is. */
const chunkBytes = 1024 * 1024;

export interface HashedFile {
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * The SHA-256 of a file, read as a stream.
 *
 * @throws CommandFailure when it is no file, or changes meanwhile: what was read then is neither the old file nor the new one.
 */
export async function hashFile(path: string, onBytes: (count: number) => void): Promise<HashedFile> {
  const file = await open(path, 'r');
  try {
    const before = await file.stat({ bigint: true });
    if (before.isDirectory()) throw new CommandFailure(exitCodes.file, 'this is a directory');
    const hash = createHash('sha256');
    let bytes = 0;
    const buffer = Buffer.allocUnsafe(chunkBytes);
    for (;;) {
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, null);
      if (bytesRead === 0) break;
      hash.update(buffer.subarray(0, bytesRead));
      bytes += bytesRead;
      onBytes(bytesRead);
    }
    const after = await file.stat({ bigint: true });
    if (after.mtimeNs !== before.mtimeNs || after.size !== before.size) {
      throw new CommandFailure(exitCodes.file, 'the file changed while it was read');
    }
    return { sha256: hash.digest('hex'), bytes };
  } finally {
    await file.close();
  }
}
