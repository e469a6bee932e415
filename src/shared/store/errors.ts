import { MongoBulkWriteError, MongoError, MongoServerError } from 'mongodb';
import { ServiceError } from '../errors.ts';

const duplicateKey = 11000;

/** Whether the error says that a unique key is taken. The index is not told reliably: read back (local-stack.md). */
export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoServerError && error.code === duplicateKey;
}

/** The positions in an unordered insertMany whose key was taken, or undefined when anything else failed too. */
export function duplicatePositions(error: unknown): number[] | undefined {
  if (!(error instanceof MongoBulkWriteError)) return undefined;
  const failures = [error.writeErrors].flat();
  if (failures.length === 0 || failures.some(({ code }) => code !== duplicateKey)) return undefined;
  return failures.map(({ index }) => index);
}

/** The driver lets Node's own error through when it writes to a connection that the server has just ended (mongodb 7.9). */
const isBrokenPipe = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EPIPE';

/**
 * Runs an operation of the store; whatever the driver or the server fails with becomes `store_unavailable` (E10). An unknown
 * server error is never the caller's fault: while PostgreSQL is down the gateway answers one (local-stack.md).
 */
export async function inStore<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    if (!(error instanceof MongoError || isBrokenPipe(error))) throw error;
    throw new ServiceError('store_unavailable', 'The store cannot be reached at the moment.', { retryAfterSeconds: 2, cause: error });
  }
}
