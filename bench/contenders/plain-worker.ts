import { createSecretKey, randomBytes, randomUUIDv7 } from 'node:crypto';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { issueMockToken } from '../../src/shared/domain/mock-token.ts';
import { createCounterStore } from '../../src/shared/store/counters.ts';

/** The worker of the plain round trip: one token, one insert a job, and with `PLAIN_COUNTS` one update of the counters of qstamp. */
const client = new MongoClient(process.env.MONGODB_URL ?? '', {
  retryWrites: false,
  maxPoolSize: 64,
  writeConcern: { w: 'majority', journal: true },
});
const db = client.db('bench_plain');
const counters = createCounterStore(db);
const stamps = db.collection<{ _id: string; hash: string; token: string; issuedAt: string }>('stamps');
const tally = { provider: 'mock', isQualified: false, callerKind: 'internal', product: 'bench', outcome: 'stamped', latencyMs: 1 } as const;
const key = createSecretKey(randomBytes(32));

const worker = new Worker<{ hash: string }>(
  'plain',
  async ({ data: { hash } }) => {
    const tokenId = randomUUIDv7();
    const timeMs = Date.now();
    const token = issueMockToken(key, { tokenId, hash, timeMs, tier: 'basic' });
    const issuedAt = new Date(timeMs).toISOString();
    const counted = process.env.PLAIN_COUNTS && counters.add([{ tallies: [{ ...tally, finishedAt: timeMs }] }]);
    await Promise.all([stamps.insertOne({ _id: tokenId, hash, token, issuedAt }), counted]);
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
