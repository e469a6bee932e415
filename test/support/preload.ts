import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Compiles `<name>.c` of this folder for LD_PRELOAD, and returns the path. @throws Error if this machine has no C compiler. */
export function compilePreload(folder: string, name: string): string {
  const library = join(folder, `${name}.so`);
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, join(import.meta.dirname, `${name}.c`), '-ldl'], { stdio: 'pipe' });
  } catch (error) {
    throw new Error(`${name}.c cannot be compiled here: it takes a C compiler (Debian: gcc and libc6-dev)`, { cause: error });
  }
  return library;
}
