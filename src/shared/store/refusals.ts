import type { Collection, Db } from 'mongodb';
import type { RequestFault } from '../domain/request-fault.ts';
import { maxTimeMS } from './connection.ts';
import { inStore } from './errors.ts';
import { insertNew } from './insert.ts';

/** That no TSA took the request of a time-stamp client, so that the id of its stamp can tell (E11). Nothing of the request is kept. */
export interface StoredRefusal {
  readonly tokenId: string;
  /** What the TSA finds wrong with the request, where it says so. */
  readonly fault?: RequestFault | undefined;
  readonly at: Date;
}

export interface RefusalStore {
  /** Writes what is not there yet. @throws ServiceError `store_unavailable` */
  insertOnce(refusals: readonly StoredRefusal[]): Promise<void>;
  /** @throws ServiceError `store_unavailable` */
  has(tokenId: string): Promise<boolean>;
}

interface RefusalDocument {
  readonly _id: string;
  readonly fault?: RequestFault;
  readonly at: Date;
}

export function createRefusalStore(db: Db): RefusalStore {
  const refusals: Collection<RefusalDocument> = db.collection('refusals');
  return {
    insertOnce: (given) =>
      inStore(async () => {
        const documents = given.map(({ tokenId, fault, at }) => ({ _id: tokenId, at, ...(fault !== undefined && { fault }) }));
        await insertNew(db, refusals, documents);
      }),
    has: (tokenId) => inStore(async () => (await refusals.findOne({ _id: tokenId }, { projection: { _id: 1 }, maxTimeMS })) !== null),
  };
}
