import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from 'mongodb';
import type { Logger } from '../runtime/log.ts';
import { inStore } from './errors.ts';
import { collectionsOfSubjects } from './evidence-terms.ts';
import { renewByField } from './stored-evidence.ts';

const retryMs = 2_000;

/** The index that finds the stamps of a product between two ids. Stamps of nobody in particular are not in it. */
export const productIndex = 'product_stamps';

async function createIndexes(db: Db): Promise<void> {
  // Partial, not sparse: a sparse index doubles what the insert of a stamp costs that has no such member (DocumentDB).
  await db
    .collection('stamps')
    .createIndex({ tokenDigest: 1 }, { name: 'rfc3161_token', partialFilterExpression: { tokenDigest: { $exists: true } } });
  await db
    .collection('stamps')
    .createIndex({ 'caller.product': 1, _id: 1 }, { name: productIndex, partialFilterExpression: { 'caller.product': { $exists: true } } });
  await db.collection('batches').createIndex({ tokenDigest: 1 });
  for (const subjects of Object.values(collectionsOfSubjects(db))) {
    // All stamps of one certificate have the same `renewBy`. An index whose entries all differ costs DocumentDB half as much (docs/architecture.md).
    await subjects.createIndex({ [renewByField]: 1, _id: 1 }, { partialFilterExpression: { [renewByField]: { $exists: true } } });
  }
  await db.collection('counters').createIndex({ date: 1 });
  await db.collection('counters').createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 });
  await db.collection('outputs').createIndex({ workflowId: 1, hash: 1 });
  await db.collection('idempotency').createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 });
}

/** Makes every index of the database, trying until the store can be reached or `signal` says to stop; repeating it changes nothing. */
export async function ensureIndexes(db: Db, { signal, log }: { signal: AbortSignal; log: Logger }): Promise<void> {
  while (!signal.aborted) {
    try {
      return await inStore(() => createIndexes(db));
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ err: error }, 'the indexes cannot be made yet');
    }
    await delay(retryMs, undefined, { ref: false });
  }
}
