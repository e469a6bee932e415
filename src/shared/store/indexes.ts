import type { Db } from 'mongodb';
import { inStore } from './errors.ts';

/** Makes every index of the database; repeating it changes nothing. */
export async function ensureIndexes(db: Db): Promise<void> {
  await inStore(async () => {
    await db.collection('stamps').createIndex({ 'caller.product': 1, _id: -1 });
    await db.collection('counters').createIndex({ date: 1 });
    await db.collection('idempotency').createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 });
  });
}
