import type { FastifyInstance } from 'fastify';
import { pricingResponse } from '../../shared/contract/pricing.ts';
import type { ApiContext } from '../server/context.ts';
import { entityTagOf, isFresh } from '../server/entity-tag.ts';
import { empty, json, type OperationContract } from '../server/operation.ts';

const contract: OperationContract = {
  tag: 'Agent',
  id: 'readPricing',
  summary: 'What the agent operations cost',
  answers: {
    200: json('The price list.', pricingResponse, { ETag: 'For `If-None-Match`.', 'Cache-Control': '`public, max-age=300`' }),
    304: empty('It has not changed.'),
  },
};

/** The price list of the agent operations, the same for everybody until the service is configured anew. */
export function registerPricingRoutes(app: FastifyInstance, { pricing }: ApiContext): void {
  const body = JSON.stringify(pricing);
  const etag = entityTagOf(body);
  app.get('/api/v1/agent/pricing', { config: { contract } }, async (request, reply) => {
    reply.headers({ ETag: etag, 'Cache-Control': 'public, max-age=300' });
    if (isFresh(request, etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(body);
  });
}
