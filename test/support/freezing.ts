import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.ts';

/** Freezes workers at the worst moments, see `freeze-before-write.ts`. */
export interface Freezing {
  /** For the processes to freeze. */
  readonly settings: Readonly<Record<string, string>>;
  /** Resolves with the process id when one of them is frozen at its next write to that collection. SIGCONT lets it continue. */
  beforeWrite(collection: string): Promise<number>;
  dispose(): void;
}

export function prepareFreezing(): Freezing {
  const folder = mkdtempSync(join(tmpdir(), 'qstamp-freeze-'));
  const asked = join(folder, 'before');
  return {
    settings: {
      NODE_OPTIONS: `--import ${new URL('freeze-before-write.ts', import.meta.url).href}`,
      FREEZE_BEFORE_WRITE: asked,
    },
    beforeWrite: async (collection) => {
      writeFileSync(`${asked}.${collection}`, '');
      try {
        return await eventually(async () => existsSync(`${asked}.frozen`) && Number(readFileSync(`${asked}.frozen`, 'utf8')));
      } finally {
        for (const file of [`${asked}.${collection}`, `${asked}.frozen`]) rmSync(file, { force: true });
      }
    },
    dispose: () => rmSync(folder, { recursive: true }),
  };
}
