import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContext } from 'node:tls';
import { Cluster, Redis, type RedisOptions, type SentinelConnectionOptions, SentinelConnector } from 'ioredis';
import { ConfigError, type RedisSettings } from '../runtime/config.ts';
import type { Logger } from '../runtime/log.ts';

/** Timeout of a command from a process that answers clients, in milliseconds: a hanging Redis must not block later requests (E10). */
export const producerTimeoutMs = 800;

/**
 * If Redis has not answered a command after this time, the connection counts as lost, and is opened again. Another server may be the primary then.
 * BullMQ's blocking reads wait for up to 10 s.
 */
const producerSilenceMs = 3_000;
const workerSilenceMs = 12_000;

/** Opens a connection for processes that answer clients. A command fails at once if Redis is down, and after 800 ms if Redis hangs. */
export const connectProducer = (settings: Partial<RedisSettings>, log: Logger): Redis =>
  connect(settings, log, 'producer', producerOptions);

/** Opens a connection that sends jobs. If replicas confirm them, other commands wait behind that question (`isReplicated`). */
export const connectSender = (settings: Partial<RedisSettings>, log: Logger): Redis =>
  connect(settings, log, 'jobs', {
    ...producerOptions,
    commandTimeout: producerTimeoutMs + (settings.REDIS_REPLICAS_ACK ? confirmedWithinMs : 0),
  });

/** The longest time in which replicas confirm jobs, in milliseconds. */
const confirmedWithinMs = 1_600;

const producerOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: producerTimeoutMs,
  socketTimeout: producerSilenceMs,
};

/** Opens a connection for workers. Commands wait for Redis to come back instead of failing. */
export const connectWorker = (settings: Partial<RedisSettings>, log: Logger): Redis =>
  connect(settings, log, 'worker', { maxRetriesPerRequest: null, socketTimeout: workerSilenceMs });

/** Opens a connection for one reader whose reads block up to `blockMs`. */
export const connectBlockingReader = (settings: Partial<RedisSettings>, log: Logger, blockMs: number): Redis =>
  connect(settings, log, 'reply', { maxRetriesPerRequest: 0, enableOfflineQueue: false, socketTimeout: blockMs + 2_000 });

/** Opens a connection to the primary, which may be another server after each new connection. */
function connect(settings: Partial<RedisSettings>, log: Logger, role: string, ofRole: OptionsOfRole): Redis {
  let isDown = false;
  const reconnectOnError = (error: Error): boolean => {
    const { message } = error;
    // ioredis itself follows a server of a Cluster that has moved our slot.
    if (!wrongServer.test(message) || (settings.REDIS_CLUSTER_NODES && message.startsWith('MOVED'))) return false;
    warnOfError(redis, log, `a Redis server that is not the primary (${role})`, error);
    return true;
  };
  const redis = open(settings, log, {
    connectionName: `qstamp-${role}`,
    connectTimeout: 2_000,
    retryStrategy,
    reconnectOnError,
    ...ofRole,
  });
  prefixes.set(redis, `{${settings.REDIS_KEY_PREFIX ?? 'qstamp'}}`);
  sendInOneWrite(redis);
  // For each command that a wrong server refuses, ioredis waits once for the end of the connection.
  redis.on('connect', () => redis.stream?.setMaxListeners(0));
  redis.on('error', (error) => {
    if (!isDown) log.warn({ err: nodeErrorIn(error), role }, 'Redis is not reachable; trying again');
    isDown = true;
  });
  redis.on('ready', () => {
    if (isDown) log.info({ role }, 'Redis is reachable again');
    isDown = false;
  });
  return redis;
}

type OptionsOfRole = Pick<RedisOptions, 'enableOfflineQueue' | 'maxRetriesPerRequest' | 'commandTimeout' | 'socketTimeout'>;
type ConnectionOptions = OptionsOfRole & Pick<RedisOptions, 'connectionName' | 'connectTimeout' | 'retryStrategy' | 'reconnectOnError'>;

/** The error of a Cluster itself does not say what was wrong with its nodes. */
const nodeErrorIn = (error: Error & { readonly lastNodeError?: Error }): Error => error.lastNodeError ?? error;

const retryStrategy = (attempt: number): number => Math.min(50 * 2 ** Math.min(attempt, 5), 1_000);

/**
 * Errors of a server that was the primary and is not any more, or not yet. Redis before 7 puts them behind its own words about a script.
 */
const wrongServer = /^(READONLY|UNBLOCKED|MASTERDOWN|LOADING|MOVED) |-READONLY /;

function open(settings: Partial<RedisSettings>, log: Logger, options: ConnectionOptions): Redis {
  const { REDIS_SENTINELS: sentinels, REDIS_CLUSTER_NODES: nodes } = settings;
  const usesTls = settings.REDIS_URL?.startsWith('rediss:') ?? false;
  const tls = usesTls || settings.REDIS_SENTINEL_TLS ? tlsOf(settings, log) : {};
  const { host = '', port = 0, ...account } = serverIn(settings.REDIS_URL);
  const server = { ...account, ...options, ...(usesTls && { tls }) };
  if (nodes) {
    const { db: _, ...redisOptions } = server;
    const cluster = new Cluster([...nodes], {
      redisOptions,
      enableOfflineQueue: options.enableOfflineQueue ?? true,
      clusterRetryStrategy: retryStrategy,
      slotsRefreshTimeout: 2_000,
      // The certificates of hosted Clusters are for names, so names are not resolved to addresses here.
      dnsLookup: (address, callback) => callback(null, address),
    });
    // A Cluster has all commands of Redis.
    return cluster as unknown as Redis;
  }
  if (!sentinels) return new Redis({ host, port, ...server });
  return new Redis({
    ...server,
    Connector: FailoverConnector,
    sentinels: [...sentinels],
    name: settings.REDIS_SENTINEL_NAME ?? '',
    ...(settings.REDIS_SENTINEL_USERNAME && { sentinelUsername: settings.REDIS_SENTINEL_USERNAME }),
    ...(settings.REDIS_SENTINEL_PASSWORD && { sentinelPassword: settings.REDIS_SENTINEL_PASSWORD }),
    ...(settings.REDIS_SENTINEL_TLS && { sentinelTLS: tls }),
    enableTLSForSentinelMode: 'tls' in server,
    // The sentinels report each new primary, so that connections to a silent old one are closed.
    failoverDetector: true,
    sentinelCommandTimeout: 2_000,
    sentinelRetryStrategy: retryStrategy,
  });
}

/** ioredis gives up for ever if the sentinels report a new primary while it asks them for one, so nobody listens to them in this time. */
class FailoverConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
  }

  override connect(...args: Parameters<SentinelConnector['connect']>): ReturnType<SentinelConnector['connect']> {
    this.disconnect();
    return super.connect(...args);
  }
}

/** Reads the address of one server. Without an address, the result is empty. */
function serverIn(url: string | undefined): { host?: string; port?: number; username?: string; password?: string; db?: number } {
  if (url === undefined) return {};
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 6379),
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    db: Number(pathname.slice(1)),
  };
}

/**
 * The files are read for each connection, so that renewed certificates need no restart. While a renewal has replaced only some of them, the last good
 * ones stay.
 *
 * @throws ConfigError if they cannot be used at the start
 */
function tlsOf({ REDIS_TLS_CA_FILE, REDIS_TLS_CERT_FILE, REDIS_TLS_KEY_FILE, REDIS_TLS_SERVERNAME }: Partial<RedisSettings>, log: Logger) {
  const read = (file: string | undefined) => (file === undefined ? undefined : readFileSync(file));
  const load = () => createSecureContext({ ca: read(REDIS_TLS_CA_FILE), cert: read(REDIS_TLS_CERT_FILE), key: read(REDIS_TLS_KEY_FILE) });
  let lastGood: SecureContext;
  try {
    lastGood = load();
  } catch (error) {
    throw new ConfigError(`REDIS_TLS_CA_FILE, REDIS_TLS_CERT_FILE or REDIS_TLS_KEY_FILE cannot be used: ${(error as Error).message}`);
  }
  return {
    ...(REDIS_TLS_SERVERNAME && { servername: REDIS_TLS_SERVERNAME }),
    get secureContext() {
      try {
        lastGood = load();
      } catch (error) {
        log.warn({ err: error }, 'the files of REDIS_TLS_… cannot be used now; the last good ones stay');
      }
      return lastGood;
    },
  };
}

const prefixes = new WeakMap<Redis, string>();

/** Returns the start of all keys of the service in this Redis. The braces keep them in one slot of a Cluster. */
export function prefixOf(redis: Redis): string {
  const prefix = prefixes.get(redis);
  if (prefix === undefined) throw new Error('this connection was not opened here, so its prefix is not known');
  return prefix;
}

/**
 * Sends all commands of the current callback in one write. Redis mostly reads small commands together, and then syncs its log only once for all of
 * them (`appendfsync always`). A duplicate of the connection does not send in one write.
 */
function sendInOneWrite(redis: Redis): void {
  const send = redis.sendCommand.bind(redis);
  let corked: typeof redis.stream | undefined;
  redis.sendCommand = (...given) => {
    const { stream } = redis;
    if (stream && stream !== corked) {
      stream.cork();
      corked = stream;
      process.nextTick(() => {
        corked = undefined;
        stream.uncork();
      });
    }
    return send(...given);
  };
}

const warnedAt = new WeakMap<Redis, Map<string, number>>();
const warnEveryMs = 60_000;

/** Logs an error of BullMQ, once a minute for each kind of it: an error that stays is reported many times a second. */
export function warnOfError(redis: Redis, log: Logger, about: string, error: Error): void {
  const times = warnedAt.get(redis) ?? new Map<string, number>();
  warnedAt.set(redis, times);
  const kind = `${about} ${/^\S*/.exec(error.message)?.[0]}`;
  if (performance.now() - (times.get(kind) ?? Number.NEGATIVE_INFINITY) < warnEveryMs) return;
  times.set(kind, performance.now());
  log.warn({ err: error }, `${about} reported an error; trying again`);
}

/** Asks the server that has our keys. In a Cluster, PING may go to any server. */
export const pingPrimary = (redis: Redis): Promise<unknown> => redis.exists(`${prefixOf(redis)}:write-check`);

/** Runs a script that writes. Rejects if Redis is full or read-only, or allows no scripts. */
export const checkScript = (redis: Redis): Promise<unknown> =>
  redis.eval("return redis.call('SET', KEYS[1], '', 'EX', 60)", 1, `${prefixOf(redis)}:write-check`);

/**
 * Tries what the service needs of Redis. Rejects with an error of Redis if it does not answer or takes no writes.
 *
 * @throws ConfigError if it never will: the user may not do that, or it is another kind of server
 */
export async function checkUser(redis: Redis): Promise<void> {
  try {
    // BullMQ never ends if INFO is refused.
    const mode = /^redis_mode:(\w+)/m.exec(await redis.info('server'))?.[1];
    if (mode === 'sentinel') throw new ConfigError('REDIS_URL: this is the address of a sentinel; set REDIS_SENTINELS');
    if (mode === 'cluster' && !('isCluster' in redis && redis.isCluster)) {
      throw new ConfigError('REDIS_URL: this server belongs to a Cluster; set REDIS_CLUSTER_NODES');
    }
    await checkScript(redis);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOPERM'))) throw error;
    throw new ConfigError(`REDIS_URL: Redis says to its user: ${error.message}; docs/operators/redis.md lists what it needs`);
  }
}

/** Resolves when the connection is ready, or after `withinMs`, so that a process can start while Redis is down. */
export async function untilReady(redis: Redis, withinMs = 2_000): Promise<void> {
  if (redis.status === 'ready') return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, withinMs);
  redis.once('ready', resolve);
  await promise;
  clearTimeout(timer);
  redis.off('ready', resolve);
}

/** Ends a connection in any state: with QUIT if Redis answers, otherwise by force. */
export async function disconnect(redis: Redis): Promise<void> {
  if (redis.status === 'ready') await Promise.race([redis.quit(), new Promise((resolve) => setTimeout(resolve, producerTimeoutMs))]);
  redis.disconnect();
}
