import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { acceptedStampsAnswer, stampBulkAnswer, stampBulkBody } from '../../shared/contract/bulk.ts';
import { detailsQuery, idempotencyHeaders, idempotencyHeadersOfAddress, preferHeaders } from '../../shared/contract/parameters.ts';
import { agentHeaders, type StampOrder, stampRequestFor, withoutDetails } from '../../shared/contract/stamp.ts';
import type { Caller } from '../../shared/domain/stamp.ts';
import { beforeBody } from '../http/before-body.ts';
import { type Bulk, bulkBodyLimit, readBulk, registerBulkBodies } from '../http/bulk-body.ts';
import type { ServerContext } from '../http/context.ts';
import { acceptedBulkOf, bulkAnswersOf, type OperationContract } from '../http/operation.ts';
import { patienceMsOf, readPrefer, wantsDetails } from '../http/prefer.ts';
import { addressKey } from '../http/rate-limits.ts';
import { createRequestParser, RequestValidationError } from '../http/validation.ts';
import { beginAnswer, sendBulk } from './bulk-answer.ts';
import { stampErrors } from './stamp-routes.ts';
import { type StampCommand, stampAll } from './stamping.ts';
import type { StampTools } from './submission.ts';

const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';

const shared = {
  summary: 'Stamp up to 1 000 hashes',
  description:
    'Send an array, or a line for each item (`application/x-ndjson`). The answer has the same format and order; lines come as stamps are made. Each item ' +
    'succeeds or fails on its own. All items must have the same tier, and none may have content. One Idempotency-Key covers them all, and so does `Prefer: respond-async`.',
  query: detailsQuery,
  body: stampBulkBody,
  bodyExample: [{ hash }, { hash, metadata: { project: 'aurora' } }],
  answers: { ...bulkAnswersOf(stampBulkAnswer), ...acceptedBulkOf(acceptedStampsAnswer) },
  errors: [...stampErrors.filter((code) => code !== 'provider_failed'), 'rate_limited'],
} as const;

const agentContract = {
  ...shared,
  tag: 'Agent',
  id: 'stampAgentBatch',
  headers: idempotencyHeadersOfAddress.extend(preferHeaders.shape).extend(agentHeaders.shape),
} satisfies OperationContract;

const internalContract = {
  ...shared,
  tag: 'Internal',
  id: 'stampInternalBatch',
  authentication: 'service',
  headers: idempotencyHeaders.extend(preferHeaders.shape),
} satisfies OperationContract;

const parseAgent = createRequestParser({ query: detailsQuery, headers: agentContract.headers });
const parseInternal = createRequestParser({ query: detailsQuery, headers: internalContract.headers });

/** Reads the items of a bulk request. @throws RequestValidationError if the valid items have different tiers, and as `readBulk` */
function readOrders(request: FastifyRequest, item: ReturnType<typeof stampRequestFor>): Bulk<StampOrder> {
  const bulk = readBulk(request, item);
  if (new Set(bulk.entries.map(({ item: { tier } }) => tier)).size < 2) return bulk;
  const msg = 'Value error, all items must be of one tier';
  throw new RequestValidationError([{ type: 'value_error', loc: ['body'], msg, input: null, ctx: { error: {} } }]);
}

/** Registers the routes that make many stamps in one request (L1): one for agents, and one for products with their service token. */
export function registerBulkRoutes(app: FastifyInstance, context: ServerContext, tools: StampTools): void {
  const { judgeCallback, requireProduct, reader, largeAnswers, agentLimit, productLimit } = context;
  const agentItem = stampRequestFor({ takesNoContent: true });
  const internalItem = stampRequestFor({ takesNoContent: true, judgeCallback });

  async function answer(
    request: FastifyRequest,
    reply: FastifyReply,
    bulk: Bulk<StampOrder>,
    query: z.output<typeof detailsQuery>,
    rest: Omit<StampCommand, 'entries' | 'operation' | 'requestId'>,
  ) {
    beginAnswer(request, reply, largeAnswers, bulk.size);
    const entries = bulk.entries.map(({ index, item: order }) => ({ index, order }));
    const patienceMs = patienceMsOf(readPrefer(request.headers.prefer));
    const told = await stampAll(tools, { ...rest, operation: 'stamps', entries, requestId: request.id, patienceMs });
    if (wantsDetails(request, query)) return sendBulk(request, reply, bulk, told);
    const brief = told.answers.map((each) => each.then((answer) => ('made' in answer ? { made: withoutDetails(answer.made) } : answer)));
    return sendBulk(request, reply, bulk, { ...told, answers: brief });
  }

  app.register(async (scope) => {
    registerBulkBodies(scope, reader);

    const agentOptions = { bodyLimit: bulkBodyLimit, config: { contract: agentContract } };
    scope.post('/api/v1/agent/v1/stamps', agentOptions, async (request, reply) => {
      const { query, headers } = parseAgent(request);
      const bulk = readOrders(request, agentItem);
      return answer(request, reply, bulk, query, {
        caller: { kind: 'agent' },
        callerId: `agent:${addressKey(request)}`,
        idempotencyKey: headers['idempotency-key'],
        paymentClaim: headers['x-payment-transaction'],
        passLimit: () => agentLimit.items(request, reply, bulk.size),
      });
    });

    const onRequest = beforeBody(requireProduct);
    const internalOptions = { bodyLimit: bulkBodyLimit, onRequest, config: { contract: internalContract } };
    scope.post('/api/v1/internal/v1/stamps', internalOptions, async (request, reply) => {
      const product = await requireProduct(request, reply);
      const caller: Caller = { kind: 'internal', product };
      const { query, headers } = parseInternal(request);
      const bulk = readOrders(request, internalItem);
      return answer(request, reply, bulk, query, {
        caller,
        callerId: `product:${product}`,
        idempotencyKey: headers['idempotency-key'],
        paymentClaim: undefined,
        passLimit: () => productLimit.items(request, reply, bulk.size),
      });
    });
  });
}
