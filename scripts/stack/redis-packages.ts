import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { installPackages } from './administrator.ts';
import { cached, recipeKey } from './cache.ts';
import type { StackContext } from './context.ts';
import { runCommand } from './run-command.ts';

const installed = '/usr/bin/redis-check-rdb';

/**
 * Gets a Redis from Debian's packages without a system service: `redis-tools` already holds the server's program under
 * another name (it acts on the name it is called by), while `redis-server` would add a service and start it.
 */
export async function installRedis(context: StackContext): Promise<string> {
  if (!existsSync(installed)) await installPackages(context, ['redis-tools']);
  const folder = await cached(context, 'redis', recipeKey(installed), async (place) => {
    symlinkSync(installed, join(place, 'redis-server'));
    await runCommand(join(place, 'redis-server'), ['--version'], context);
  });
  return join(folder, 'redis-server');
}
