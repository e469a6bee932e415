import type { FastifyInstance } from 'fastify';
import { idempotencyHeaders, preferHeaders } from '../../shared/contract/parameters.ts';
import { type StampListResponse, stampListResponse, stampRequestFor } from '../../shared/contract/stamp.ts';
import { dailyQuery, dailyStatsResponse, listQuery } from '../../shared/contract/stats.ts';
import { verificationResult, verifyRequest } from '../../shared/contract/verify.ts';
import { beforeBody } from '../server/before-body.ts';
import { tokenBodyLimit } from '../server/body-reader.ts';
import type { ApiContext } from '../server/context.ts';
import { json, type OperationContract } from '../server/operation.ts';
import { createRequestParser } from '../server/validation.ts';
import { answerStamp, stampAnswers, stampBodyLimit, stampErrors } from './stamp-operation.ts';

const shared = { tag: 'Internal', authentication: 'service' } as const;

const verifyContract = {
  ...shared,
  id: 'verifyInternal',
  summary: 'Verify a token',
  body: verifyRequest,
  answers: { 200: json('Whether it is valid, and why not.', verificationResult) },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const listContract = {
  ...shared,
  id: 'listStamps',
  summary: 'The stamps of the calling product, newest first',
  description: '`issued_at` and `is_qualified` are as recorded; verify a stamp to have them proved.',
  query: listQuery,
  answers: { 200: json('One page of them, and how many there are.', stampListResponse) },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const dailyContract = {
  ...shared,
  id: 'readDailyStatistics',
  summary: 'Daily statistics, newest day first',
  query: dailyQuery,
  answers: { 200: json('A row for each day, provider and kind of caller; days without traffic have none.', dailyStatsResponse) },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const parseVerify = createRequestParser(verifyContract);
const parseList = createRequestParser(listContract);
const parseDaily = createRequestParser(dailyContract);

/** Service-to-service operations: each needs a product's service token (E4). */
export function registerInternalRoutes(app: FastifyInstance, context: ApiContext): void {
  const { requireProduct, stamping, verification, statistics, sealedMaxBytes, judgeCallback } = context;
  const stampContract = {
    ...shared,
    id: 'stampInternal',
    summary: 'Stamp a hash, or content in tier sealed',
    headers: idempotencyHeaders.extend(preferHeaders.shape),
    body: stampRequestFor({ sealedMaxBytes, judgeCallback }),
    answers: stampAnswers,
    errors: [...stampErrors, 'rate_limited'],
  } satisfies OperationContract;
  const parseStamp = createRequestParser(stampContract);

  const onRequest = beforeBody(requireProduct);
  const stampOptions = { bodyLimit: stampBodyLimit(sealedMaxBytes), onRequest, config: { contract: stampContract } };
  app.post('/api/v1/internal/v1/stamp', stampOptions, async (request, reply) => {
    const product = await requireProduct(request, reply);
    const { headers, body: order } = parseStamp(request);
    return answerStamp(request, reply, stamping, {
      order,
      caller: { kind: 'internal', product },
      callerId: `product:${product}`,
      requestId: request.id,
      idempotencyKey: headers['idempotency-key'],
      paymentClaim: undefined,
    });
  });

  app.post(
    '/api/v1/internal/v1/verify',
    { onRequest, bodyLimit: tokenBodyLimit, config: { contract: verifyContract } },
    async (request, reply) => {
      await requireProduct(request, reply);
      return verification.raw(parseVerify(request).body.token);
    },
  );

  app.get('/api/v1/internal/v1/stamps', { config: { contract: listContract } }, async (request, reply): Promise<StampListResponse> => {
    const product = await requireProduct(request, reply);
    return statistics.listStamps(product, parseList(request).query);
  });

  app.get('/api/v1/internal/stats/daily', { config: { contract: dailyContract } }, async (request, reply) => {
    await requireProduct(request, reply);
    return statistics.daily(parseDaily(request).query.days);
  });
}
