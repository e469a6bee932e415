import { type Db, MongoClient, type MongoClientOptions } from 'mongodb';
import { ConfigError } from '../runtime/config.ts';
import { untilDone } from '../runtime/every.ts';
import type { Logger } from '../runtime/log.ts';
import { answerWithin } from '../runtime/within.ts';

/** The database if `MONGODB_URL` does not name one. */
const defaultDatabase = 'qstamp';

/** The maximum time of an operation on the server, in ms. The driver's own `timeoutMS` has no effect (docs/reference/adr/0005-one-document-is-atomic.md). */
export const maxTimeMS = 5_000;

const reconnectMs = 250;
const connectTimeoutMS = 2_000;

/** The maximum time for closing the connection, in milliseconds: MongoDB may not answer any more. */
const closeMs = 2_000;

/** A heartbeat of the driver fails earlier than this: after `connectTimeoutMS` of silence while it connects, or the same time afterwards. */
const longestHeartbeatMs = 2 * connectTimeoutMS + 1_000;

interface StoreConnection {
  readonly db: Db;
  close(): Promise<void>;
}

/**
 * Connects in the background, and reconnects when MongoDB is back. So a process can start and keep running while MongoDB is down. Writes are
 * journaled before they are acknowledged.
 */
export function connectStore(url: string, log: Logger): StoreConnection {
  const client = createClient(url, {
    appName: 'qstamp',
    serverSelectionTimeoutMS: 2_000,
    connectTimeoutMS,
    serverMonitoringMode: 'poll',
    socketTimeoutMS: 10_000,
    waitQueueTimeoutMS: 5_000,
    maxPoolSize: 64,
    retryWrites: false,
    writeConcern: { w: 'majority', journal: true },
    ignoreUndefined: true,
  });
  client.on('serverHeartbeatFailed', (event) => log.debug({ err: event.failure }, 'MongoDB did not answer a heartbeat of the driver'));
  const closing = new AbortController();
  let connecting = connectUntil(client, closing.signal, log);
  watchHeartbeats(client, () => {
    if (closing.signal.aborted) return;
    log.warn('the driver has stopped looking for MongoDB; connecting again');
    connecting = connecting.then(() => forgetServers(client)).then(() => connectUntil(client, closing.signal, log));
  });
  return {
    db: client.db(databaseOf(url) ?? defaultDatabase),
    close: async () => {
      closing.abort();
      await connecting;
      await answerWithin(closeMs, () => client.close());
    },
  };
}

/**
 * Calls `onStuck` if a heartbeat of the driver neither succeeds nor fails. mongodb 7.9 can wait forever for a socket that is destroyed but not yet
 * closed, and then it never checks this server again.
 */
function watchHeartbeats(client: MongoClient, onStuck: () => void): void {
  const limits = new Map<string, NodeJS.Timeout>();
  const ended = ({ connectionId }: { readonly connectionId: string }) => clearTimeout(limits.get(connectionId));
  client.on('serverHeartbeatStarted', ({ connectionId }) => {
    clearTimeout(limits.get(connectionId));
    limits.set(connectionId, setTimeout(onStuck, longestHeartbeatMs).unref());
  });
  client.on('serverHeartbeatSucceeded', ended);
  client.on('serverHeartbeatFailed', ended);
  // The driver sends no more events about a server that it has dropped.
  client.on('serverClosed', ({ address }) => clearTimeout(limits.get(address)));
}

/**
 * Makes the driver forget its servers, so that it connects to them again. `client.close()` is not suitable: it ends all running operations, and
 * first sends commands to MongoDB, which may hang.
 */
function forgetServers(client: MongoClient & { readonly topology?: { close(): void } | undefined }): void {
  client.topology?.close();
}

/** Returns the database in the connection string, or undefined. (The driver itself would use `test`.) */
function databaseOf(url: string): string | undefined {
  const named = /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url)?.[1];
  return named && decodeURIComponent(named);
}

/** @throws ConfigError if the driver refuses the connection string. The message does not show it, because it may contain a password. */
function createClient(url: string, options: MongoClientOptions): MongoClient {
  try {
    return new MongoClient(url, options);
  } catch {
    throw new ConfigError('MONGODB_URL: got a value (not shown); it takes a connection string of MongoDB');
  }
}

/**
 * Tries to connect until it succeeds. This is needed because a client whose first connection failed answers "Topology is closed" forever (mongodb
 * 7.9). After the first connection, the driver reconnects by itself.
 */
const connectUntil = (client: MongoClient, signal: AbortSignal, log: Logger): Promise<void> =>
  untilDone(reconnectMs, () => client.connect(), {
    signal,
    onFailed: (error) => log.warn({ err: error }, 'MongoDB is not reachable; trying again'),
  });
