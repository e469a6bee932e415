import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StackContext } from '../../scripts/stack/context.ts';
import { installRedis, startRedisProgram } from '../../scripts/stack/redis.ts';
import { findProgram } from '../../scripts/stack/run.ts';
import { type PrivateServer, startPrivate } from './servers.ts';

/** @throws Error if this machine has no C compiler. */
function compile(folder: string): string {
  const library = join(folder, 'slow-sync.so');
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, join(import.meta.dirname, 'slow-sync.c'), '-ldl'], { stdio: 'pipe' });
  } catch (error) {
    throw new Error('a slow disk cannot be made here: it takes a C compiler (Debian: gcc and libc6-dev)', { cause: error });
  }
  return library;
}

/** A Redis for one test whose disk can be slowed; always a local program, even if a Docker engine answers. */
export async function startRedisOnSlowableDisk() {
  let told = '';
  const start = async (context: StackContext) => {
    told = join(context.dataDir, 'slow-sync-ms');
    const program = findProgram('redis-server') ?? (await installRedis(context));
    const env = { LD_PRELOAD: compile(context.dataDir), SLOW_SYNC_FILE: told };
    return startRedisProgram(context, program, 'a program of this machine', { env });
  };
  const server: PrivateServer = await startPrivate(start);
  /** From now on a disk sync takes this long; a running sync continues. */
  const slowDown = (syncMs: number) => writeFileSync(told, String(syncMs));
  return { ...server, slowDown };
}
