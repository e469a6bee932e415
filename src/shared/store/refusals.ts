import type { Collection, Db } from 'mongodb';
import type { RequestFault } from '../domain/request-fault.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import { insertNew } from './insert.ts';

/**
 * Why an accepted stamp was not made (E11). `request_refused`: no TSA took the request of a time-stamp client. `stamp_failed`: the service itself
 * could not make it, and an operator has to look at its job.
 */
export type RefusalReason = 'request_refused' | 'stamp_failed';

/** That a stamp was not made, so that its id can tell why. Nothing of the request is kept. */
export interface StoredRefusal {
  readonly tokenId: string;
  readonly reason: RefusalReason;
  /** What the TSA finds wrong with the request, where it says so. */
  readonly fault?: RequestFault | undefined;
  readonly at: Date;
}

export interface RefusalStore {
  /** Writes what is not there yet. @throws ServiceError `store_unavailable` */
  insertOnce(refusals: readonly StoredRefusal[]): Promise<void>;
  /** @throws ServiceError `store_unavailable` */
  find(tokenId: string): Promise<RefusalReason | undefined>;
  /** Removes those of stamps that failed and are tried again. @throws ServiceError `store_unavailable` */
  forgetFailed(tokenIds: readonly string[]): Promise<void>;
}

interface RefusalDocument {
  readonly _id: string;
  /** Absent: `request_refused`. */
  readonly reason?: RefusalReason;
  readonly fault?: RequestFault;
  readonly at: Date;
}

export function createRefusalStore(db: Db): RefusalStore {
  const refusals: Collection<RefusalDocument> = db.collection('refusals');
  return {
    insertOnce: (given) =>
      inStore(async () => {
        const documents = given.map(({ tokenId, reason, fault, at }) => ({
          _id: tokenId,
          at,
          ...(reason !== 'request_refused' && { reason }),
          ...(fault !== undefined && { fault }),
        }));
        await insertNew(db, refusals, documents);
      }),
    find: (tokenId) =>
      inStore(async () => {
        const found = await refusals.findOne({ _id: tokenId }, { projection: { reason: 1 }, maxTimeMS });
        return found === null ? undefined : (found.reason ?? 'request_refused');
      }),
    forgetFailed: (tokenIds) =>
      inStore(async () => void (await refusals.deleteMany({ _id: { $in: [...tokenIds] }, reason: 'stamp_failed' }))),
  };
}
