import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Gives `use` the path of a file with these contents and removes it afterwards. */
export async function withFile<T>(contents: Uint8Array, use: (path: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'qstamp-file-'));
  try {
    const path = join(dir, 'contents');
    await writeFile(path, contents);
    return await use(path);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
