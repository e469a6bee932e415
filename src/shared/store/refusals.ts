import type { Collection, Db } from 'mongodb';
import type { RequestFault } from '../domain/stamp.ts';
import { eachInStore, insertNew, maxTimeMS } from './connection.ts';

/**
 * Why an accepted stamp was not made (E11). `request_refused`: no TSA accepted the request of a time-stamp client. `tier_unavailable`: it must be
 * qualified, and no provider is. `stamp_failed`: the service itself could not make the stamp, and an operator has to check its job.
 */
type RefusalReason = 'request_refused' | 'tier_unavailable' | 'stamp_failed';

/** Records that a stamp was not made, so that its id shows why. Nothing else of the request is stored. */
interface StoredRefusal {
  readonly tokenId: string;
  readonly reason: RefusalReason;
  /** The reason of the TSA, if it gave one. */
  readonly fault?: RequestFault | undefined;
  readonly at: Date;
}

interface RefusalDocument extends Omit<StoredRefusal, 'tokenId'> {
  readonly _id: string;
}

export function createRefusalStore(db: Db) {
  const refusals: Collection<RefusalDocument> = db.collection('refusals');
  return eachInStore({
    /** Writes the refusals that do not exist yet. */
    insertOnce: async (given: readonly StoredRefusal[]): Promise<void> => {
      const documents = given.map(({ tokenId, ...rest }) => ({ _id: tokenId, ...rest }));
      await insertNew(db, refusals, documents);
    },
    find: async (tokenId: string): Promise<RefusalReason | undefined> => {
      const found = await refusals.findOne({ _id: tokenId }, { projection: { reason: 1 }, maxTimeMS });
      return found?.reason;
    },
    /** Removes the records of stamps that failed and are now retried. */
    forgetFailed: async (tokenIds: readonly string[]): Promise<void> => {
      await refusals.deleteMany({ _id: { $in: [...tokenIds] }, reason: 'stamp_failed' });
    },
  });
}
