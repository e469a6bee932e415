import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerProcess, StackServer } from '../../scripts/stack/server-process.ts';
import { eventually } from './eventually.ts';

/** A separate file system of some megabytes that can be filled. */
export interface SmallDisk {
  /** Fills every block. */
  fill(): void;
  /** Frees the space. */
  free(): void;
  unmount(): void;
}

/** Mounts one at `folder`. @throws Error if we may not mount. */
export function mountSmallDisk(folder: string, megabytes: number): SmallDisk {
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0755`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch (error) {
    throw new Error('a full disk cannot be made here: mounting a tmpfs takes root', { cause: error });
  }
  const filler = join(folder, 'filler');
  return {
    fill: () => {
      const file = openSync(filler, 'a');
      const block = Buffer.alloc(4_096);
      try {
        for (;;) writeSync(file, block);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        closeSync(file);
      }
      if (statfsSync(folder).bavail > 0) throw new Error(`${folder} is not full`);
    },
    free: () => rmSync(filler),
    unmount: () => void execFileSync('umount', [folder]),
  };
}

/** Starts a server again whenever it ends, like compose and Kubernetes. */
export function keepRunning(server: Pick<StackServer | ServerProcess, 'start' | 'onUnexpectedExit'>): void {
  const isStarted = () =>
    server.start().then(
      () => true,
      () => false,
    );
  server.onUnexpectedExit(() => void eventually(isStarted, Number.POSITIVE_INFINITY));
}
