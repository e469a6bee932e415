import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compilePreload } from './preload.ts';

/** Sets the clocks of single processes, see `moved-clock.c`. */
export interface MovedClocks {
  /** For the processes whose clocks may be set. */
  readonly settings: Readonly<Record<string, string>>;
  /** From now on the clock of this process is ahead by this much; 0 sets it right. */
  set(pid: number, aheadMs: number): void;
  dispose(): void;
}

/** @throws Error if this machine has no C compiler. */
export function prepareMovedClocks(): MovedClocks {
  const folder = mkdtempSync(join(tmpdir(), 'qstamp-clock-'));
  return {
    settings: { LD_PRELOAD: compilePreload(folder, 'moved-clock'), MOVED_CLOCK_FOLDER: folder },
    set: (pid, aheadMs) => {
      // Not truncated: the process has mapped it.
      const file = openSync(join(folder, String(pid)), 'r+');
      writeSync(file, new BigInt64Array([BigInt(aheadMs)]), 0, 8, 0);
      closeSync(file);
    },
    dispose: () => rmSync(folder, { recursive: true }),
  };
}
