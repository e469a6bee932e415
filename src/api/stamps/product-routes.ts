import type { FastifyInstance } from 'fastify';
import { idempotencyHeaders, preferHeaders } from '../../shared/contract/parameters.ts';
import { type StampListResponse, stampListResponse, stampRequestFor } from '../../shared/contract/stamp.ts';
import { listQuery } from '../../shared/contract/stats.ts';
import { beforeBody } from '../server/before-body.ts';
import { stampBodyLimit } from '../server/body-reader.ts';
import type { ServerContext } from '../server/context.ts';
import { json, type OperationContract } from '../server/operation.ts';
import { createRequestParser } from '../server/validation.ts';
import type { StampList } from './stamp-list.ts';
import { answerStamp, stampAnswers, stampErrors } from './stamp-operation.ts';
import type { Stamping } from './stamping.ts';

const shared = { tag: 'Internal', authentication: 'service' } as const;

const listContract = {
  ...shared,
  id: 'listStamps',
  summary: 'The stamps of the calling product, newest first',
  description: '`issued_at` and `is_qualified` are as recorded; verify a stamp to have them proved.',
  query: listQuery,
  answers: { 200: json('One page of them, and how many there are.', stampListResponse) },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const parseList = createRequestParser(listContract);

/** Stamping for products, and the list of their stamps; each request needs a service token (E4). */
export function registerProductRoutes(
  app: FastifyInstance,
  context: ServerContext & { readonly stamping: Stamping; readonly stampList: StampList },
): void {
  const { requireProduct, stamping, stampList, sealedMaxBytes, judgeCallback } = context;
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

  app.get('/api/v1/internal/v1/stamps', { config: { contract: listContract } }, async (request, reply): Promise<StampListResponse> => {
    const product = await requireProduct(request, reply);
    return stampList(product, parseList(request).query);
  });
}
