import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Makes a value for `MASTER_KEY`: 32 random bytes in base64. */
export const newMasterKey = (): string => randomBytes(32).toString('base64');

/**
 * The path of the file with the master key of the data in `dataDir`, for `MASTER_KEY_FILE`. If the file is missing, it is made, readable only for
 * this user. If you lose it, you keep the stamps of TSAs, but lose every secret and e-mail address in the database.
 */
export function masterKeyFile(dataDir: string): string {
  const file = join(dataDir, 'master-key');
  if (existsSync(file)) return file;
  // The key is written to another file and renamed, so that a crash never leaves half a key.
  const unfinished = `${file}.${process.pid}`;
  writeFileSync(unfinished, `${newMasterKey()}\n`, { mode: 0o600 });
  renameSync(unfinished, file);
  return file;
}
