import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { PricingResponse } from '../../shared/contract/pricing.ts';

/** RFC 9110 §13.1.2: `*`, or a list of entity tags compared weakly. */
const isMatch = (given: string | undefined, etag: string): boolean =>
  given?.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, ''))) ?? false;

/** The price list of the agent operations, the same for everybody until the service is configured anew. */
export function registerPricingRoutes(app: FastifyInstance, deps: { pricing: PricingResponse }): void {
  const body = JSON.stringify(deps.pricing);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  app.get('/api/v1/agent/pricing', async (request, reply) => {
    reply.headers({ ETag: etag, 'Cache-Control': 'public, max-age=300' });
    if (isMatch(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(body);
  });
}
