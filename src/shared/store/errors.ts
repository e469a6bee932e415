import { MongoError, MongoServerError } from 'mongodb';
import { ServiceError } from '../domain/service-error.ts';

export const duplicateKey = 11000;

/** Whether the error is a duplicate key. It does not reliably name the index, so read the stored document. */
export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === duplicateKey;
}

/** OutOfDiskSpace of mongod; PostgreSQL's disk_full (53100) through DocumentDB. */
const outOfSpaceCodes: readonly unknown[] = [14_031, 4_293];

/** Whether a write failed because the store's disk is full. */
export const isOutOfSpace = (error: unknown): boolean =>
  error instanceof ServiceError && error.cause instanceof MongoServerError && outOfSpaceCodes.includes(error.cause.code);

/** The driver passes on a Node.js error when it writes to a connection that the server has just closed (mongodb 7.9). */
const isBrokenPipe = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EPIPE';

/** The driver's own limits for one operation add up to a second less: 5 s for a pool connection, 4 s to open it, 10 s of silence. */
const longestMs = 20_000;

/** The maximum time for content of this size, in milliseconds: the limit of small commands, and one more second per 128 KiB. */
export const limitForBytes = (bytes: number): number => longestMs + Math.ceil(bytes / (128 * 1024)) * 1_000;

/** The store refuses this document: too large (BSONObjectTooLarge), too long a key, or refused by a validator. */
const refusedDocumentCodes: readonly unknown[] = [10_334, 17_280, 121];

const isRefusedDocument = (error: MongoError): boolean => refusedDocumentCodes.includes(error.code);

/** The store is down, or we may not use it (E10). `cause` is logged. */
export const unavailable = (cause: unknown) =>
  new ServiceError('store_unavailable', 'The store cannot be reached at the moment.', { retryAfterSeconds: 2, cause });

/**
 * Runs an operation of the store. Every failure of driver or server becomes `store_unavailable` (E10), except a refused document. Unknown errors
 * too: DocumentDB's gateway returns such errors while its PostgreSQL is down, and they are never the caller's fault. An operation also fails after
 * `limitMs`: mongodb 7.9 can wait forever for a destroyed socket.
 *
 * @param limitMs default: 20 s; for content `limitForBytes`
 */
export async function inStore<T>(operation: () => Promise<T>, limitMs = longestMs): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(unavailable(new Error('the driver did not finish the operation'))), limitMs);
  try {
    return await Promise.race([operation(), limit.promise]);
  } catch (error) {
    const isAway = error instanceof MongoError ? !isRefusedDocument(error) : isBrokenPipe(error);
    throw isAway ? unavailable(error) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** A store whose methods all run in `inStore`. */
export function eachInStore<T extends Record<string, (...args: never[]) => Promise<unknown>>>(methods: T): T {
  const guarded = Object.entries(methods).map(([name, method]) => [name, (...args: never[]) => inStore(() => method(...args))]);
  return Object.fromEntries(guarded);
}
