import { Queue, QueueEvents } from 'bullmq';
import { fastify } from 'fastify';
import { Redis } from 'ioredis';

/** An API that uses BullMQ in the usual way: one job per request, and `waitUntilFinished`. */
const connect = () => new Redis(process.env.REDIS_URL ?? '', { maxRetriesPerRequest: null });
const queue = new Queue<{ hash: string }>('plain', { connection: connect() });
queue.setMaxListeners(0);
const events = new QueueEvents('plain', { connection: connect() });
await events.waitUntilReady();

const app = fastify();
app.post<{ Body: { hash: string } }>('/api/v1/internal/v1/stamp', async (request, reply) => {
  const job = await queue.add('stamp', { hash: request.body.hash }, { removeOnComplete: { count: 10_000 } });
  reply.code(201);
  return job.waitUntilFinished(events, 30_000);
});
const url = await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ ready: true, url });
