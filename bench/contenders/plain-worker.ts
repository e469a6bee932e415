import { createSecretKey, randomBytes, randomUUIDv7 } from 'node:crypto';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { issueMockToken } from '../../src/shared/domain/mock-token.ts';
import { createCounterStore } from '../../src/shared/store/counters.ts';

/**
 * The worker of the plain round trip: one token and one insert a job. It counts in rows with `PLAIN_COUNTS=rows`, as is usual, and in a document
 * of its own with `ledger`.
 */
const client = new MongoClient(process.env.MONGODB_URL ?? '', {
  retryWrites: false,
  maxPoolSize: 64,
  writeConcern: { w: 'majority', journal: true },
});
const db = client.db();
const counters = createCounterStore(db);
const stamps = db.collection<{ _id: string; hash: string; token: string; issuedAt: string }>('stamps');
const tally = { provider: 'mock', isQualified: false, callerKind: 'internal', product: 'bench', outcome: 'stamped', latencyMs: 1 } as const;
const rows = db.collection<{ _id: string; stamps: number }>('counters');
const key = createSecretKey(randomBytes(32));

/** For the day, the hour, the product, and for ever. */
function countInRows(timeMs: number): Promise<unknown> {
  const [time, { callerKind, provider, product }] = [new Date(timeMs).toISOString(), tally];
  const ids = [`day:${time.slice(0, 10)}:${callerKind}:${provider}`, `hour:${time.slice(0, 13)}`, `product:${product}`, 'lifetime'];
  const update = { $inc: { stamps: 1 } };
  return rows.bulkWrite(
    ids.map((_id) => ({ updateOne: { filter: { _id }, update, upsert: true } })),
    { ordered: false },
  );
}

const countings: Readonly<Record<string, (timeMs: number) => Promise<unknown>>> = {
  rows: countInRows,
  ledger: (timeMs) => counters.add([{ tallies: [{ ...tally, finishedAt: timeMs }] }]).written,
};
const { PLAIN_COUNTS: counting } = process.env;
const count = counting ? countings[counting] : undefined;
if (counting && !count) throw new RangeError(`PLAIN_COUNTS: got "${counting}", it takes rows or ledger`);

const worker = new Worker<{ hash: string }>(
  'plain',
  async ({ data: { hash } }) => {
    const tokenId = randomUUIDv7();
    const timeMs = Date.now();
    const token = issueMockToken(key, { tokenId, hash, timeMs, tier: 'basic' });
    const issuedAt = new Date(timeMs).toISOString();
    await Promise.all([stamps.insertOne({ _id: tokenId, hash, token, issuedAt }), count?.(timeMs)]);
    return { token_id: tokenId, issued_at: issuedAt, content_sha256: hash, token, tier: 'basic' };
  },
  {
    connection: new Redis(process.env.REDIS_URL ?? '', { maxRetriesPerRequest: null }),
    // Of 1, 16, 50 and 256 the fastest, counting or not.
    concurrency: 50,
  },
);
await worker.waitUntilReady();
process.send?.({ ready: true });
