import { MongoError, MongoServerError } from 'mongodb';
import { ServiceError } from '../domain/service-error.ts';
import { TooLateError, within } from '../runtime/within.ts';

export const duplicateKey = 11000;

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
const longestMs = 20_000;

/** Returns the maximum time for an operation with this many bytes, in milliseconds: `longestMs`, and one more second for each 128 KiB. */
export const limitForBytes = (bytes: number): number => longestMs + Math.ceil(bytes / (128 * 1024)) * 1_000;

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
 * @param limitMs 20 s by default; for content, `limitForBytes` returns it
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
