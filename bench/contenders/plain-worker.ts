import { createSecretKey, randomBytes, randomUUIDv7 } from 'node:crypto';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { issueMockToken } from '../../src/shared/domain/mock-token.ts';

/** The worker of the plain round trip: one token, one insert a job; one job at a time, as is BullMQ's default, or `PLAIN_CONCURRENCY`. */
const client = new MongoClient(process.env.MONGODB_URL ?? '', {
  retryWrites: false,
  maxPoolSize: 64,
  writeConcern: { w: 'majority', journal: true },
});
const stamps = client.db('bench_plain').collection<{ _id: string; hash: string; token: string; issuedAt: string }>('stamps');
const key = createSecretKey(randomBytes(32));

const worker = new Worker<{ hash: string }>(
  'plain',
  async ({ data: { hash } }) => {
    const tokenId = randomUUIDv7();
    const timeMs = Date.now();
    const token = issueMockToken(key, { tokenId, hash, timeMs, tier: 'basic' });
    const issuedAt = new Date(timeMs).toISOString();
    await stamps.insertOne({ _id: tokenId, hash, token, issuedAt });
    return { token_id: tokenId, issued_at: issuedAt, content_sha256: hash, token, tier: 'basic' };
  },
  {
    connection: new Redis(process.env.REDIS_URL ?? '', { maxRetriesPerRequest: null }),
    concurrency: Number(process.env.PLAIN_CONCURRENCY ?? 1),
  },
);
await worker.waitUntilReady();
process.send?.({ ready: true });
