import { createSecretKey, randomBytes, randomUUIDv7 } from 'node:crypto';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { issueMockToken } from '../../src/shared/domain/mock-token.ts';

/** The worker for `plain-api.ts`: each job makes one token and one insert, and counts its stamp. */
const client = new MongoClient(process.env.MONGODB_URL ?? '', {
  retryWrites: false,
  maxPoolSize: 64,
  writeConcern: { w: 'majority', journal: true },
});
const db = client.db();
const stamps = db.collection<{ _id: string; hash: string; token: string; issuedAt: string }>('stamps');
const tally = { provider: 'mock', callerKind: 'internal', product: 'bench' } as const;
const rows = db.collection<{ _id: string; stamps: number }>('counters');
const key = createSecretKey(randomBytes(32));

/** Counts a stamp for the day, the hour, the product, and in total. */
function countInRows(timeMs: number): Promise<unknown> {
  const [time, { callerKind, provider, product }] = [new Date(timeMs).toISOString(), tally];
  const ids = [`day:${time.slice(0, 10)}:${callerKind}:${provider}`, `hour:${time.slice(0, 13)}`, `product:${product}`, 'lifetime'];
  const update = { $inc: { stamps: 1 } };
  return rows.bulkWrite(
    ids.map((_id) => ({ updateOne: { filter: { _id }, update, upsert: true } })),
    { ordered: false },
  );
}

const worker = new Worker<{ hash: string }>(
  'plain',
  async ({ data: { hash } }) => {
    const tokenId = randomUUIDv7();
    const timeMs = Date.now();
    const token = issueMockToken(key, { tokenId, hash, timeMs, tier: 'basic' });
    const issuedAt = new Date(timeMs).toISOString();
    await Promise.all([stamps.insertOne({ _id: tokenId, hash, token, issuedAt }), countInRows(timeMs)]);
    return { token_id: tokenId, issued_at: issuedAt, content_sha256: hash, token, tier: 'basic' };
  },
  {
    connection: new Redis(process.env.REDIS_URL ?? '', { maxRetriesPerRequest: null }),
    // The fastest of the values 1, 16, 50 and 256.
    concurrency: 50,
  },
);
await worker.waitUntilReady();
process.send?.({ ready: true });
