import { setTimeout as delay } from 'node:timers/promises';
import { type Db, MongoClient, type MongoClientOptions } from 'mongodb';
import { answerWithin } from '../runtime/answer-within.ts';
import { ConfigError } from '../runtime/config.ts';
import type { Logger } from '../runtime/log.ts';

/** The database if `MONGODB_URL` does not name one. */
const defaultDatabase = 'qstamp';

/** The maximum time of an operation on the server. `timeoutMS` of the driver has no effect (docs/adr/0005-one-document-is-atomic.md). */
export const maxTimeMS = 5_000;

const reconnectMs = 250;
const connectTimeoutMS = 2_000;

/** The maximum time for closing: the store may not answer any more. */
const closeMs = 2_000;

/** A heartbeat fails by itself if its connection is silent for `connectTimeoutMS`, while it is opened or afterwards. */
const longestHeartbeatMs = 2 * connectTimeoutMS + 1_000;

export interface StoreConnection {
  readonly db: Db;
  close(): Promise<void>;
}

/**
 * Connects in the background, and reconnects when the server is back, so that a process starts and keeps running while the store is down. Writes
 * are journaled before they are acknowledged.
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
  client.on('serverHeartbeatFailed', (event) => log.debug({ err: event.failure }, 'a heartbeat of the store failed'));
  const closing = new AbortController();
  let connecting = connectUntil(client, closing.signal, log);
  watchHeartbeats(client, () => {
    if (closing.signal.aborted) return;
    log.warn('the driver has stopped looking for the store: connecting again');
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
 * Calls `onStuck` if a heartbeat of the driver neither succeeds nor fails: mongodb 7.9 can wait forever for a socket that is destroyed but not yet
 * closed, and then never checks that server again.
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
 * Makes the driver forget its servers, so that it connects to them again. `client.close()` does not work: it first sends a goodbye to the store,
 * which may hang, and it ends all running operations.
 */
function forgetServers(client: MongoClient & { readonly topology?: { close(): void } | undefined }): void {
  client.topology?.close();
}

/** The database in the connection string; the driver itself falls back to `test`. */
function databaseOf(url: string): string | undefined {
  const named = /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url)?.[1];
  return named && decodeURIComponent(named);
}

/** @throws ConfigError for a connection string that the driver refuses; it may contain a password, so it is not shown */
function createClient(url: string, options: MongoClientOptions): MongoClient {
  try {
    return new MongoClient(url, options);
  } catch {
    throw new ConfigError('MONGODB_URL: got a value (not shown); it takes a connection string of MongoDB');
  }
}

/**
 * Connects until it succeeds: a client whose first connection failed answers "Topology is closed" forever (mongodb 7.9). Once connected, the driver
 * reconnects by itself.
 */
async function connectUntil(client: MongoClient, signal: AbortSignal, log: Logger): Promise<void> {
  while (!signal.aborted) {
    try {
      await client.connect();
      return;
    } catch (error) {
      log.warn({ err: error }, 'the store cannot be reached');
    }
    await delay(reconnectMs);
  }
}
