import type { FastifyInstance } from 'fastify';
import { type StampListResponse, stampRequestFor } from '../../shared/contract/stamp.ts';
import { dailyQuery, listQuery } from '../../shared/contract/stats.ts';
import { verifyRequest } from '../../shared/contract/verify.ts';
import { type IdentifyProduct, requireProduct } from '../plugins/service-token.ts';
import { createRequestParser } from '../plugins/validation.ts';
import type { Stamping } from '../services/stamping.ts';
import type { Statistics } from '../services/statistics.ts';
import type { Verification } from '../services/verification.ts';
import { sendStamp, stampBodyLimit, stampHeaders } from './stamping.ts';

const parseVerify = createRequestParser({ body: verifyRequest });
const parseList = createRequestParser({ query: listQuery });
const parseDaily = createRequestParser({ query: dailyQuery });

/** Service-to-service operations: each needs a product's service token (E4). */
export function registerInternalRoutes(
  app: FastifyInstance,
  deps: {
    identifyProduct: IdentifyProduct;
    stamping: Stamping;
    verification: Verification;
    statistics: Statistics;
    sealedMaxBytes: number;
  },
): void {
  const { identifyProduct, stamping, verification, statistics, sealedMaxBytes } = deps;
  const parseStamp = createRequestParser({ headers: stampHeaders, body: stampRequestFor({ sealedMaxBytes }) });

  app.post('/api/v1/internal/v1/stamp', { bodyLimit: stampBodyLimit(sealedMaxBytes) }, async (request, reply) => {
    const product = requireProduct(identifyProduct, request);
    const { headers, body: order } = parseStamp(request);
    const answer = await stamping.stamp({
      order,
      caller: { kind: 'internal', product },
      callerId: `product:${product}`,
      requestId: request.id,
      idempotencyKey: headers['idempotency-key'],
      paymentClaim: undefined,
    });
    return sendStamp(reply, answer);
  });

  app.post('/api/v1/internal/v1/verify', async (request) => {
    requireProduct(identifyProduct, request);
    return verification.raw(parseVerify(request).body.token);
  });

  app.get('/api/v1/internal/v1/stamps', async (request): Promise<StampListResponse> => {
    const product = requireProduct(identifyProduct, request);
    return statistics.listStamps(product, parseList(request).query);
  });

  app.get('/api/v1/internal/stats/daily', async (request) => {
    requireProduct(identifyProduct, request);
    return statistics.daily(parseDaily(request).query.days);
  });
}
