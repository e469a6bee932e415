import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.ts';

/** Stops workers at the worst moments, see `freeze-before-write.ts`. */
export interface Freezing {
  /** For the processes that are to freeze. */
  readonly settings: Readonly<Record<string, string>>;
  /** Resolves when one of them has come to its next write to that collection, and stands still. SIGCONT is its way on. */
  beforeWrite(collection: string): Promise<void>;
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
      await eventually(async () => !existsSync(`${asked}.${collection}`));
    },
    dispose: () => rmSync(folder, { recursive: true }),
  };
}
