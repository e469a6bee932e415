import { setTimeout as delay } from 'node:timers/promises';
import { type Db, MongoClient, type MongoClientOptions } from 'mongodb';
import { ConfigError } from '../runtime/config.ts';
import type { Logger } from '../runtime/log.ts';
import { answerWithin } from '../runtime/within.ts';
import { inStore } from './errors.ts';
import { checkForm } from './form.ts';

/** The database if `MONGODB_URL` does not name one. */
const defaultDatabase = 'qstamp';

/** The maximum time of an operation on the server, in ms. The driver's own `timeoutMS` has no effect (docs/reference/adr/0005-one-document-is-atomic.md). */
export const maxTimeMS = 5_000;

const reconnectMs = 250;
const connectTimeoutMS = 2_000;

/** The maximum time for closing the connection, in milliseconds: MongoDB may not answer any more. */
const closeMs = 2_000;

/** The maximum time for one check of the form, in milliseconds. It is shorter than the time that a stopping process has. */
const longestCheckMs = 10_000;

/** A heartbeat of the driver fails earlier than this: after `connectTimeoutMS` of silence while it connects, or the same time afterwards. */
const longestHeartbeatMs = 2 * connectTimeoutMS + 1_000;

export interface StoreConnection {
  readonly db: Db;
  /** Resolves when MongoDB is reachable. @throws ConfigError if this version cannot read the database */
  untilConnected(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects in the background, and reconnects when MongoDB is back. So a process can start and keep running while MongoDB is down. Writes are
 * journaled before they are acknowledged. Nothing is written to a database whose form this version does not know.
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
  // Every operation, and `untilConnected`, reports the error.
  connecting.catch(() => undefined);
  watchHeartbeats(client, () => {
    if (closing.signal.aborted) return;
    log.warn('the driver has stopped looking for MongoDB; connecting again');
    connecting = connecting.then(() => forgetServers(client)).then(() => connectUntil(client, closing.signal, log));
  });
  return {
    db: client.db(databaseOf(url)),
    untilConnected: () => connecting,
    close: async () => {
      closing.abort();
      await connecting.catch(() => undefined);
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

/** Returns the name of the database. (Without one in the connection string, the driver itself would use `test`.) */
function databaseOf(url: string): string {
  const named = /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url)?.[1];
  return named === undefined ? defaultDatabase : decodeURIComponent(named);
}

/**
 * A client that checks the form of the database before its first connection, with a connection of its own. The driver also connects in `connect` if
 * an operation comes first, so no operation is earlier than the check.
 */
class CheckedClient extends MongoClient {
  readonly #url: string;
  readonly #options: MongoClientOptions;
  /** One check for all operations that wait for the first connection. Undefined while MongoDB has not answered. */
  #checking: Promise<void> | undefined;

  constructor(url: string, options: MongoClientOptions) {
    super(url, options);
    this.#url = url;
    this.#options = options;
  }

  /** @throws ConfigError if this version cannot read the database */
  override async connect(): Promise<this> {
    this.#checking ??= this.#check();
    await this.#checking;
    return super.connect();
  }

  async #check(): Promise<void> {
    const other = new MongoClient(this.#url, this.#options);
    try {
      // The driver may wait forever here too (`watchHeartbeats`).
      await inStore(() => checkForm(other.db(databaseOf(this.#url))), longestCheckMs);
    } catch (error) {
      if (!(error instanceof ConfigError)) this.#checking = undefined;
      throw error;
    } finally {
      await answerWithin(closeMs, () => other.close());
    }
  }
}

/** @throws ConfigError if the driver refuses the connection string. The message does not show it, because it may contain a password. */
function createClient(url: string, options: MongoClientOptions): MongoClient {
  try {
    return new CheckedClient(url, options);
  } catch {
    throw new ConfigError('MONGODB_URL: got a value (not shown); it takes a connection string of MongoDB');
  }
}

/**
 * Tries to connect until it succeeds. This is needed because a client whose first connection failed answers "Topology is closed" forever (mongodb
 * 7.9). After the first connection, the driver reconnects by itself.
 *
 * @throws ConfigError if this version cannot read the database
 */
async function connectUntil(client: MongoClient, signal: AbortSignal, log: Logger): Promise<void> {
  while (!signal.aborted) {
    try {
      await client.connect();
      return;
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      log.warn({ err: error }, 'MongoDB is not reachable; trying again');
    }
    await delay(reconnectMs);
  }
}
