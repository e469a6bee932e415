import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A value for `MASTER_KEY`: 32 random bytes as base64. */
export const newMasterKey = (): string => randomBytes(32).toString('base64');

/**
 * The file with the master key of the data in `dataDir`, for `MASTER_KEY_FILE`; made where it is not there, for this user alone to read.
 * Who loses it keeps the stamps of TSAs, and loses every secret and address in the database.
 */
export function masterKeyFile(dataDir: string): string {
  const file = join(dataDir, 'master-key');
  if (existsSync(file)) return file;
  // A crash leaves no half of a key.
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, `${newMasterKey()}\n`, { mode: 0o600 });
  renameSync(unfinished, file);
  return file;
}
