import { setTimeout as delay } from 'node:timers/promises';
import { type Db, MongoClient, type MongoClientOptions } from 'mongodb';
import { answerWithin } from '../runtime/answer-within.ts';
import { ConfigError } from '../runtime/config.ts';
import type { Logger } from '../runtime/log.ts';

/** The database used when `MONGODB_URL` names none. */
const defaultDatabase = 'qstamp';

/** How long an operation may take on the server. `timeoutMS` of the driver has no effect (docs/adr/0005-one-document-is-atomic.md). */
export const maxTimeMS = 5_000;

const reconnectMs = 250;
const connectTimeoutMS = 2_000;

/** How long closing may take: the store may not answer any more. */
const closeMs = 2_000;

/** A heartbeat fails by itself when its connection has been silent for `connectTimeoutMS`, while it is made and afterwards. */
const longestHeartbeatMs = 2 * connectTimeoutMS + 1_000;

export interface StoreConnection {
  readonly db: Db;
  close(): Promise<void>;
}

/**
 * Dials in the background, and again whenever the server is back, so that a process starts and stays up while the store is away. Writes are journaled before they are acknowledged.
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
 * Calls `onStuck` when a heartbeat of the driver neither succeeds nor fails: mongodb 7.9 can wait for ever for a socket that is destroyed
 * but not yet closed, and then never looks for that server again.
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
  // No more events come from a server that the driver has dropped.
  client.on('serverClosed', ({ address }) => clearTimeout(limits.get(address)));
}

/**
 * Makes the driver forget its servers, so that connecting looks for them anew. `client.close()` will not do: it first sends a goodbye to
 * the store, which may hang, and ends all running operations.
 */
function forgetServers(client: MongoClient & { readonly topology?: { close(): void } | undefined }): void {
  client.topology?.close();
}

/** The database that a connection string names; the driver itself falls back to `test`. */
function databaseOf(url: string): string | undefined {
  const named = /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url)?.[1];
  return named && decodeURIComponent(named);
}

/** @throws ConfigError for a connection string that the driver does not take; it may hold a password and is not repeated. */
function createClient(url: string, options: MongoClientOptions): MongoClient {
  try {
    return new MongoClient(url, options);
  } catch {
    throw new ConfigError('MONGODB_URL: got a value (not shown); it takes a connection string of MongoDB');
  }
}

/**
 * Connects, again and again until it succeeds: a client whose first connection failed answers "Topology is closed" for ever
 * (mongodb 7.9). Once connected, the driver finds its way back by itself.
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
