import type { Collection, Db } from 'mongodb';
import { eachInStore, insertIfAbsent, maxTimeMS } from './connection.ts';

interface IdempotencyRecord {
  readonly _id: string;
  readonly requestDigest: string;
  /** The id that the first request got. Later answers are made from the data with this id. */
  readonly resourceId: string;
  readonly expiresAt: Date;
}

export function createIdempotencyStore(db: Db) {
  const bindings: Collection<IdempotencyRecord> = db.collection('idempotency');
  return eachInStore({
    /** Resolves to true if a caller's key is bound at `now`. */
    isBound: async (key: string, now: Date): Promise<boolean> =>
      (await bindings.findOne({ _id: key, expiresAt: { $gt: now } }, { projection: { _id: 1 }, maxTimeMS })) !== null,
    /**
     * Binds a caller's key to a request and to the id of its result (S9). Only the first call binds the key. Later calls return the existing
     * binding, and their caller has to compare `requestDigest`.
     */
    bind: async (given: {
      key: string;
      requestDigest: string;
      resourceId: string;
      now: Date;
      expiresAt: Date;
    }): Promise<{ requestDigest: string; resourceId: string; isFirst: boolean }> => {
      const { key, requestDigest, resourceId, now, expiresAt } = given;
      for (;;) {
        const isFirst = await insertIfAbsent(bindings, { _id: key, requestDigest, resourceId, expiresAt });
        if (isFirst) return { requestDigest, resourceId, isFirst };
        const bound = await bindings.findOne({ _id: key }, { maxTimeMS });
        if (bound && bound.expiresAt > now) return { ...bound, isFirst };
        if (bound) await bindings.deleteOne({ _id: key, expiresAt: bound.expiresAt });
      }
    },
  });
}
