import type { Db } from 'mongodb';
import { collectionsOfSubjects } from './evidence-terms.ts';
import { renewByField } from './stored-evidence.ts';

/** Makes all indexes of the database. It may be called again. */
export async function createIndexes(db: Db): Promise<void> {
  // The index is partial and not sparse: in DocumentDB, a sparse index doubles the insert cost of a stamp without this member.
  await db
    .collection('stamps')
    .createIndex({ tokenDigest: 1 }, { name: 'rfc3161_token', partialFilterExpression: { tokenDigest: { $exists: true } } });
  await db
    .collection('stamps')
    .createIndex(
      { 'caller.product': 1, _id: 1 },
      { name: 'product_stamps', partialFilterExpression: { 'caller.product': { $exists: true } } },
    );
  await db.collection('batches').createIndex({ tokenDigest: 1 });
  for (const subjects of Object.values(collectionsOfSubjects(db))) {
    // All stamps under one certificate have the same `renewBy`. With `_id` the index entries are different, which halves their cost in DocumentDB
    // (docs/reference/adr/0006-what-an-insert-costs.md).
    await subjects.createIndex({ [renewByField]: 1, _id: 1 }, { partialFilterExpression: { [renewByField]: { $exists: true } } });
  }
  await db.collection('listings').createIndex({ signer: 1, firstAt: -1 });
  await db.collection('outputs').createIndex({ workflowId: 1, hash: 1 });
  await db.collection('idempotency').createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 });
}
