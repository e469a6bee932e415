import { canInstallPackages, findProgram } from './administrator.ts';
import type { StackContext } from './context.ts';
import { dockerAnswers, startRedisContainer } from './docker.ts';
import { StepError } from './progress.mjs';
import { startRedisBinary } from './redis-binary.ts';
import { installRedis } from './redis-packages.ts';
import type { ServerOptions, StackServer } from './server.ts';
import { findVersion } from './version.ts';

const oldest = [6, 2] as const;

/**
 * Starts the first Redis that this machine can give: a Docker engine, `redis-server` on PATH, Debian's package.
 *
 * @throws StepError that names what would make one of them work.
 */
export async function startRedis(context: StackContext, options: ServerOptions = {}): Promise<StackServer> {
  if (await dockerAnswers(context)) return startRedisContainer(context, options);
  const program = findProgram('redis-server');
  if (program !== undefined) {
    const version = await findVersion(program, oldest, context);
    if (version.usable) return startRedisBinary(context, program, `redis-server ${version.text}, found on PATH`, options);
    context.progress.say(`  ${program} is ${version.text}; Redis ${oldest.join('.')} or newer is needed`);
  }
  if (canInstallPackages()) {
    const installed = await installRedis(context);
    const version = await findVersion(installed, oldest, context);
    if (version.usable) return startRedisBinary(context, installed, `Redis ${version.text} of Debian's package redis-tools`, options);
  }
  throw new StepError(
    'Finding a Redis',
    'no Docker engine answers, no redis-server 6.2 or newer is on PATH, and packages cannot be installed here (no apt-get, or neither root nor sudo)',
    'set REDIS_URL to a running Redis, or start Docker, or put redis-server on PATH',
  );
}
