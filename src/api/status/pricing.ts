import type { FastifyInstance } from 'fastify';
import { type PricingResponse, pricingResponse } from '../../shared/contract/status.ts';
import { version } from '../../shared/contract/version.ts';
import { stampTiers } from '../../shared/domain/stamp.ts';
import type { ServerContext } from '../http/context.ts';
import { entityTagOf, isFresh } from '../http/entity-tag.ts';
import { empty, json, type OperationContract } from '../http/operation.ts';

/** ISO 4217 code. */
const currency = 'EUR';
/** When the prices below were set. */
const updatedAt = '2026-11-21T00:00:00Z';

const free = [
  'GET /api/v1/verify/v1/token/{token_id}',
  'POST /api/v1/verify/v1/raw',
  'POST /api/v1/workflow/start',
  'GET /workflow/{workflow_id}',
  'GET /api/v1/status',
];

/** The prices for agents. At present everything is free, with or without the header `x-payment-transaction` (S10). */
const pricingOf = (sealedMaxBytes: number): PricingResponse => ({
  version,
  currency,
  payment_required: false,
  payment_header: 'x-payment-transaction',
  tiers: stampTiers.map((tier) => ({
    tier,
    method: 'POST',
    path: `/api/v1/agent/v1/stamp/${tier}`,
    price: { amount: '0.00', currency },
    max_content_bytes: tier === 'sealed' ? sealedMaxBytes : 0,
  })),
  free,
  updated_at: updatedAt,
});

const contract: OperationContract = {
  tag: 'Agent',
  id: 'readPricing',
  summary: 'The prices of the agent operations',
  answers: {
    200: json('The price list.', pricingResponse, { ETag: 'For `If-None-Match`.', 'Cache-Control': '`public, max-age=300`' }),
    304: empty('It has not changed.'),
  },
};

/** Serves the price list of the agent operations. It is the same for every client until the service is configured differently. */
export function registerPricingRoute(app: FastifyInstance, { sealedMaxBytes }: ServerContext): void {
  const body = JSON.stringify(pricingOf(sealedMaxBytes));
  const etag = entityTagOf(body);
  app.get('/api/v1/agent/pricing', { config: { contract } }, async (request, reply) => {
    reply.headers({ ETag: etag, 'Cache-Control': 'public, max-age=300' });
    if (isFresh(request, etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(body);
  });
}
