import {
  Binary,
  type Collection,
  type Db,
  type Document,
  MongoBulkWriteError,
  MongoClient,
  type MongoClientOptions,
  MongoError,
  MongoServerError,
  type OptionalUnlessRequiredId,
  WriteConcern,
} from 'mongodb';
import { ServiceError } from '../domain/service-error.ts';
import { ConfigError } from '../runtime/config.ts';
import type { Logger } from '../runtime/log.ts';
import { answerWithin, TooLateError, untilDone, within } from '../runtime/timers.ts';

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

const duplicateKey = 11000;

/** Returns true for the error of a duplicate key. The error does not reliably name the index, so the caller has to read the stored document. */
export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === duplicateKey;
}

/** Error codes of a full disk: OutOfDiskSpace of MongoDB, and PostgreSQL's disk_full (53100) as DocumentDB reports it. */
const outOfSpaceCodes: readonly unknown[] = [14_031, 4_293];

/** Returns true if a write failed because the disk of MongoDB is full. */
export const isOutOfSpace = (error: unknown): boolean =>
  error instanceof ServiceError && error.cause instanceof MongoServerError && outOfSpaceCodes.includes(error.cause.code);

/** Returns true for the Node.js error that mongodb 7.9 passes on when it writes to a connection that the server has just closed. */
const isBrokenPipe = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EPIPE';

/** More than the limits of the driver for one operation together: 5 s to get a connection from the pool, 4 s to open it, 10 s of silence. */
export const longestMs = 20_000;

/** How long these bytes may be on their way to the store, in milliseconds: one second for each 128 KiB, because its line may be slow. */
export const transferMs = (bytes: number): number => Math.floor(bytes / (128 * 1024)) * 1_000;

/** Error codes of a refused document: it is too large (BSONObjectTooLarge), a key is too long, or a validator refuses it. */
const refusedDocumentCodes: readonly unknown[] = [10_334, 17_280, 121];

const isRefusedDocument = (error: MongoError): boolean => refusedDocumentCodes.includes(error.code);

/** Makes the error for a MongoDB that is down or refuses us (E10). `cause` is only logged. */
export const unavailable = (cause: unknown) =>
  new ServiceError('store_unavailable', 'The store cannot be reached at the moment.', { retryAfterSeconds: 2, cause });

/**
 * Runs an operation on MongoDB. Every error of driver or server becomes `store_unavailable` (E10), except a refused document. This includes unknown
 * errors: DocumentDB's gateway returns them while its PostgreSQL is down, and they are never the caller's fault. An operation also fails after
 * `limitMs`, because mongodb 7.9 can wait forever for a destroyed socket.
 *
 * @param limitMs 20 s by default
 */
export async function inStore<T>(operation: () => Promise<T>, limitMs = longestMs): Promise<T> {
  try {
    return await within(limitMs, operation);
  } catch (error) {
    const isAway = error instanceof MongoError ? !isRefusedDocument(error) : error instanceof TooLateError || isBrokenPipe(error);
    throw isAway ? unavailable(error) : error;
  }
}

/** Returns the same methods, but each of them runs in `inStore`. */
export function eachInStore<T extends Record<string, (...args: never[]) => Promise<unknown>>>(methods: T): T {
  const guarded = Object.entries(methods).map(([name, method]) => [name, (...args: never[]) => inStore(() => method(...args))]);
  return Object.fromEntries(guarded);
}

/** The maximum size of all documents in one command. MongoDB allows 16 MiB for a command, so the rest is enough for its other fields. */
const mostBytesPerCommand = 12 * 1024 * 1024;

/** An upper bound for the octets that BSON adds to a value (type, length, end of its name). It also covers a whole number or date. */
const overheadBytes = 24;

/** Returns an upper bound for the BSON size of a value, without encoding it. A UTF-16 unit takes at most three octets of UTF-8. */
function mostBytesOf(value: unknown): number {
  if (typeof value === 'string') return overheadBytes + 3 * value.length;
  if (value instanceof Binary) return overheadBytes + value.position;
  if (ArrayBuffer.isView(value)) return overheadBytes + value.byteLength;
  if (typeof value !== 'object' || value === null) return overheadBytes;
  let bytes = overheadBytes;
  // `Object.entries` would produce two kilobytes of garbage for each stamp.
  for (const name of Object.keys(value)) bytes += 3 * name.length + mostBytesOf((value as Record<string, unknown>)[name]);
  return bytes;
}

interface WriteFault {
  readonly index: number;
  readonly code: number | string | undefined;
}

/** Returns the positions of the documents with a duplicate key, or undefined if one of the faults is not a duplicate key. */
function duplicatesIn(faults: readonly WriteFault[]): number[] | undefined {
  return faults.every(({ code }) => code === duplicateKey) ? faults.map(({ index }) => index) : undefined;
}

/** Sends the documents inside the command. Returns the positions of duplicate keys, and throws for any other fault. */
async function insertWithin<T extends Document>(
  db: Db,
  { collectionName, writeConcern, bsonOptions }: Collection<T>,
  documents: readonly T[],
): Promise<number[]> {
  const command = { insert: collectionName, documents, ordered: false };
  // `db.command` does not use the write concern and the BSON options of the collection, so they are set here.
  if (writeConcern) WriteConcern.apply(command, writeConcern);
  const { writeErrors = [], writeConcernError } = await db.command(command, bsonOptions);
  const duplicates = duplicatesIn(writeErrors);
  if (!duplicates || writeConcernError) {
    throw new MongoServerError(writeErrors.find(({ code }: WriteFault) => code !== duplicateKey) ?? writeConcernError);
  }
  return duplicates;
}

async function insertMany<T extends Document>(collection: Collection<T>, documents: readonly T[]): Promise<number[]> {
  try {
    await collection.insertMany([...documents] as OptionalUnlessRequiredId<T>[], { ordered: false });
    return [];
  } catch (error) {
    const faults = error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : [];
    const duplicates = faults.length > 0 ? duplicatesIn(faults) : undefined;
    if (!duplicates) throw error;
    return duplicates;
  }
}

/** Inserts one document, unless its `_id` exists. Resolves to true if it was inserted. @throws MongoError like `insertOne` */
export async function insertIfAbsent<T extends Document>(
  collection: Collection<T>,
  document: OptionalUnlessRequiredId<T>,
): Promise<boolean> {
  try {
    await collection.insertOne(document);
    return true;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return false;
  }
}

/**
 * Inserts the documents whose `_id` does not exist yet, and returns the positions of the others. The driver's `insertMany` sends documents outside
 * the command, which costs DocumentDB's gateway twice as much. So they are sent inside it if they fit (docs/reference/adr/0006-what-an-insert-costs.md).
 *
 * @throws MongoError if a document fails for another reason; other documents may be written
 */
export async function insertNew<T extends Document>(db: Db, collection: Collection<T>, documents: readonly T[]): Promise<number[]> {
  if (documents.length === 0) return [];
  const bytes = documents.reduce((sum, document) => sum + mostBytesOf(document), 0);
  return bytes > mostBytesPerCommand ? insertMany(collection, documents) : insertWithin(db, collection, documents);
}

/** Reads and writes one member of a document in the collection `checks`, where the service records the progress of its own work. */
export function createNote<T>(db: Db, id: string, member: string) {
  const checks: Collection<{ readonly _id: string; readonly [member: string]: unknown }> = db.collection('checks');
  return {
    /** Resolves to undefined before the first write. */
    read: (): Promise<T | undefined> => inStore(async () => (await checks.findOne({ _id: id }, { maxTimeMS }))?.[member] as T | undefined),
    write: (value: T): Promise<void> =>
      inStore(async () => void (await checks.updateOne({ _id: id }, { $set: { [member]: value } }, { upsert: true }))),
  };
}

/** Copies octets that the driver has read. */
export const bytesOf = (binary: Binary): Buffer => Buffer.from(binary.buffer);
