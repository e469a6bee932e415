import { createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { createTemporaryContext } from '../../scripts/stack/context.ts';
import type { DocumentDbServer } from '../../scripts/stack/documentdb.ts';
import type { StackServer } from '../../scripts/stack/server-process.ts';
import { startMongo, startRedis } from '../../scripts/stack/servers.ts';

const databases = 512;

function shared(name: 'TEST_REDIS_URL' | 'TEST_MONGODB_URL'): string {
  const url = process.env[name];
  if (!url)
    throw new Error(`${name} is not set: run the test through "npm test -- <file>", or set what "node scripts/dev-servers.ts" prints`);
  return url;
}

/** The URL of an empty database of the shared Redis that no other test of this run uses. */
export async function freshRedisUrl(): Promise<string> {
  const url = shared('TEST_REDIS_URL');
  const redis = new Redis(url);
  try {
    const index = await redis.incr('qstamp-tests:databases');
    if (index >= databases) throw new Error(`all ${databases - 1} Redis databases of this run are taken`);
    return `${url}/${index}`;
  } finally {
    redis.disconnect();
  }
}

/** The URL of an unused database of the MongoDB at `serverUrl`. */
export function freshDatabase(serverUrl: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/test_${randomUUID().replaceAll('-', '')}`;
  return url.href;
}

/** The URL of an unused database of the shared MongoDB. */
export const freshMongoUrl = (): string => freshDatabase(shared('TEST_MONGODB_URL'));

/** The options to open a store on an empty database. */
export const freshStore = () => ({ MONGODB_URL: freshMongoUrl(), MASTER_KEY: createSecretKey(randomBytes(32)) });

/** A server for one test, which may break it: stop, kill (SIGKILL), start again on the same port and data, pause, resume. */
export type PrivateServer<S extends StackServer = StackServer> = S & {
  /** Where it keeps its data and its log. */
  readonly dataDir: string;
  /** Ends the server and deletes its data. */
  dispose(): Promise<void>;
};

/** Starts a server for one test. */
export async function startPrivate<S extends StackServer>(
  start: (context: ReturnType<typeof createTemporaryContext>['context']) => Promise<S>,
) {
  const { context, dispose } = createTemporaryContext(new AbortController().signal);
  try {
    const server = await start(context);
    return {
      ...server,
      dataDir: context.dataDir,
      dispose: async () => {
        await (server.remove ?? server.kill)();
        dispose();
      },
    };
  } catch (error) {
    dispose();
    throw error;
  }
}

/** A Redis for one test. */
export const startPrivateRedis = (): Promise<PrivateServer> => startPrivate((context) => startRedis(context));

/** A MongoDB for one test; on DocumentDB its two processes can be broken separately (`postgres`, `gateway`). */
export const startPrivateMongo = (): Promise<PrivateServer<StackServer | DocumentDbServer>> =>
  startPrivate<StackServer | DocumentDbServer>((context) => startMongo(context));
