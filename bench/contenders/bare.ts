import { fastify } from 'fastify';

/** The upper limit of the rate: a Fastify route that only returns an answer of the size of a stamp. */
const app = fastify();
const answer = {
  token: 'x'.repeat(124),
  token_id: '0'.repeat(36),
  issued_at: '2026-01-01T00:00:00.000Z',
  content_sha256: 'a'.repeat(64),
  tier: 'basic',
};
app.post('/api/v1/internal/v1/stamp', async (_request, reply) => {
  reply.code(201);
  return answer;
});
const url = await app.listen({ port: 0, host: '127.0.0.1' });
process.send?.({ ready: true, url });
