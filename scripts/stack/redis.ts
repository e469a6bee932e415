import type { StackContext } from './context.ts';
import { startRedisBinary } from './redis-binary.ts';
import { installRedis } from './redis-packages.ts';
import type { ServerOptions, StackServer } from './server.ts';
import { type Source, startFromFirstSource } from './sources.ts';
import { findVersion } from './version.ts';

const source: Source = {
  title: 'Redis',
  service: 'redis',
  setting: 'REDIS_URL',
  program: 'redis-server',
  oldest: [6, 2],
  startProgram: startRedisBinary,
  startFromPackages: async (context, options) => {
    const installed = await installRedis(context);
    const { text, usable } = await findVersion(installed, source.oldest, context);
    return usable ? startRedisBinary(context, installed, `Redis ${text} of Debian's package redis-tools`, options) : undefined;
  },
};

/** Starts the first Redis that this machine can give; see `startFromFirstSource`. */
export const startRedis = (context: StackContext, options: ServerOptions = {}): Promise<StackServer> =>
  startFromFirstSource(context, source, options);
