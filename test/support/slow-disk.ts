import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StackContext } from '../../scripts/stack/context.ts';
import { installRedis, startRedisProgram } from '../../scripts/stack/redis.ts';
import { findProgram } from '../../scripts/stack/run.ts';
import { compilePreload } from './preload.ts';
import { type PrivateServer, startPrivate } from './servers.ts';

/**
 * A Redis for one test whose disk can be slowed; always a local program, even if a Docker engine answers.
 *
 * @throws Error if this machine has no C compiler.
 */
export async function startRedisOnSlowableDisk() {
  let told = '';
  const start = async (context: StackContext) => {
    told = join(context.dataDir, 'slow-sync-ms');
    const program = findProgram('redis-server') ?? (await installRedis(context));
    const env = { LD_PRELOAD: compilePreload(context.dataDir, 'slow-sync'), SLOW_SYNC_FILE: told };
    return startRedisProgram(context, program, 'a program of this machine', { env });
  };
  const server: PrivateServer = await startPrivate(start);
  /** From now on a disk sync takes this long; a running sync continues. */
  const slowDown = (syncMs: number) => writeFileSync(told, String(syncMs));
  return { ...server, slowDown };
}
