import type { Collection, Db } from 'mongodb';
import { eachInStore, maxTimeMS } from './connection.ts';

/** `_id`: see `recipientHash`. */
interface BlockedRecipient {
  readonly _id: string;
  readonly at: Date;
}

/** The recipients who have stopped the mails of this installation, as hashes. Redaction of a workflow does not remove them (W10). */
export function createBlockedRecipientStore(db: Db) {
  const blocked: Collection<BlockedRecipient> = db.collection('blocked_recipients');
  return eachInStore({
    block: async (hash: string, at: Date): Promise<void> => {
      await blocked.updateOne({ _id: hash }, { $setOnInsert: { at } }, { upsert: true });
    },
    /** When the recipient was blocked, or undefined. */
    blockedAt: async (hash: string): Promise<Date | undefined> => (await blocked.findOne({ _id: hash }, { maxTimeMS }))?.at,
    /** Resolves to false if the recipient was not blocked. */
    allow: async (hash: string): Promise<boolean> => (await blocked.deleteOne({ _id: hash })).deletedCount === 1,
  });
}
