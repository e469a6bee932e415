import { createTemporaryContext, type StackContext } from './context.ts';
import type { ServerOptions, StackServer } from './server-process.ts';
import { startMongo, startRedis } from './servers.ts';

/** The URLs of Redis and MongoDB, and their sources. */
export interface Stack {
  readonly redisUrl: string;
  readonly mongoUrl: string;
  /** Text for people: which Redis was chosen, and why. */
  readonly redisSource: string;
  /** The same text for MongoDB. */
  readonly mongoSource: string;
  /** The servers that we started. Servers that the environment names are not among them. */
  readonly servers: { readonly redis?: StackServer; readonly mongo?: StackServer };
  /** Stops the servers that we started. */
  stop(): Promise<void>;
}

interface StackOptions {
  /** URLs of servers that are used instead of starting our own. */
  readonly env?: { readonly REDIS_URL?: string | undefined; readonly MONGODB_URL?: string | undefined };
  readonly redis?: ServerOptions;
  readonly mongo?: ServerOptions;
}

/**
 * Gets Redis and MongoDB, each from the first source that this machine has. They start one after the other, because both may need apt-get or the same
 * container network.
 *
 * @throws StepError if a step fails; before that, everything that was started is stopped
 */
export async function startStack(context: StackContext, options: StackOptions = {}): Promise<Stack> {
  const { REDIS_URL, MONGODB_URL } = options.env ?? {};
  const servers: { redis?: StackServer; mongo?: StackServer } = {};
  const stop = async () => {
    const end = async (server: StackServer | undefined) => {
      await server?.stop();
      await server?.remove?.();
    };
    await Promise.all([end(servers.redis), end(servers.mongo)]);
  };
  try {
    if (!REDIS_URL) servers.redis = await startRedis(context, options.redis);
    if (!MONGODB_URL) servers.mongo = await startMongo(context, options.mongo);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    redisUrl: REDIS_URL || (servers.redis?.url ?? ''),
    mongoUrl: MONGODB_URL || (servers.mongo?.url ?? ''),
    redisSource: servers.redis?.source ?? 'REDIS_URL is set',
    mongoSource: servers.mongo?.source ?? 'MONGODB_URL is set',
    servers,
    stop,
  };
}

/** Starts servers on free ports with temporary data, calls `run`, and stops the servers. */
export async function withStack<T>(
  signal: AbortSignal,
  run: (stack: Stack) => Promise<T>,
  changes: Partial<StackContext> = {},
): Promise<T> {
  const { context, dispose } = createTemporaryContext(signal, changes);
  try {
    const stack = await startStack(context);
    try {
      return await run(stack);
    } finally {
      await stack.stop();
    }
  } finally {
    dispose();
  }
}
