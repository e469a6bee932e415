import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { acceptedStampsAnswer, stampBulkAnswer, stampBulkBody } from '../../shared/contract/bulk.ts';
import { detailsQuery, idempotencyHeaders, idempotencyHeadersOfAddress, preferHeaders } from '../../shared/contract/parameters.ts';
import {
  type AcceptedStamp,
  acceptedStamp,
  agentHeaders,
  pendingStamp,
  type StampListResponse,
  type StampOrder,
  type StampToken,
  stampListResponse,
  stampRequestFor,
  stampToken,
  withoutDetails,
} from '../../shared/contract/stamp.ts';
import { listQuery } from '../../shared/contract/status.ts';
import type { ErrorCode } from '../../shared/domain/service-error.ts';
import { type Caller, type StampTier, stampTiers } from '../../shared/domain/stamp.ts';
import { beforeBody, stampBodyLimit } from '../http/body-reader.ts';
import type { ServerContext } from '../http/context.ts';
import { type Bulk, bulkBodyLimit, readBulk, registerBulkBodies } from '../http/json-body.ts';
import {
  acceptedBulkOf,
  acceptedHeaders,
  asyncApplied,
  bulkAnswersOf,
  json,
  type OperationContract,
  type Preferences,
  patienceMsOf,
  readPrefer,
  wantsDetails,
} from '../http/operation.ts';
import { addressKey, callerIdOf, type LimitHook } from '../http/rate-limits.ts';
import { createRequestParser, RequestValidationError } from '../http/validation.ts';
import { beginAnswer, sendBulk } from './bulk-answer.ts';
import { listStamps } from './stamp-list.ts';
import { type StampCommand, stampAll } from './stamping.ts';
import type { StampTools } from './submission.ts';

const headers = idempotencyHeadersOfAddress.extend({ ...agentHeaders.shape, ...preferHeaders.shape });

const meanings = {
  basic: 'Only the hash is stamped.',
  plus: 'The hash is stamped and can be verified at `verify_url`.',
  sealed:
    'The content is stamped and stored. Everybody who knows `sealed_storage_url` can read it. A hash alone is stamped as in the other tiers.',
} as const satisfies Record<StampTier, string>;

/** Registers the stamp routes for agents. Each tier has its own path, and the path decides the tier (S5). */
export function registerAgentRoutes(app: FastifyInstance, context: ServerContext, tools: StampTools): void {
  const { config, limits, agentLimit: limited, sealedMaxBytes } = context;
  const limitedBytes = limits.by({
    name: 'sealed-bytes',
    points: config.RATE_SEALED_BYTES_PER_HOUR,
    durationSeconds: 3_600,
    unit: 'bytes of sealed content',
    key: addressKey,
  });

  /**
   * Counts a request without an idempotency key before its body is read. A request with a key may be a repetition, which is not counted; that is
   * known only after its body is read.
   */
  const limitUnkeyed: LimitHook = async (request, reply) => {
    if (request.headers['idempotency-key'] === undefined) await limited(request, reply);
  };

  for (const tier of stampTiers) {
    const contract = {
      tag: 'Agent',
      id: `stampAgent${tier.charAt(0).toUpperCase()}${tier.slice(1)}`,
      summary: `Stamp in tier ${tier}`,
      description: meanings[tier],
      query: detailsQuery,
      headers,
      body: stampRequestFor({ tier, sealedMaxBytes }),
      bodyExample: tier === 'sealed' ? { content_b64: 'aGVsbG8=' } : undefined,
      answers: stampAnswers,
      errors: [...stampErrors, 'rate_limited'],
    } satisfies OperationContract;
    const parse = createRequestParser(contract);
    const options = { bodyLimit: stampBodyLimit(sealedMaxBytes), onRequest: limitUnkeyed, config: { contract } };
    app.post(`/api/v1/agent/v1/stamp/${tier}`, options, async (request, reply) => {
      const { query, headers: given, body: order } = parse(request);
      return answerStamp(request, reply, tools, query, order, {
        caller: { kind: 'agent' },
        callerId: callerIdOf(request, undefined),
        requestId: request.id,
        idempotencyKey: given['idempotency-key'],
        paymentClaim: given['x-payment-transaction'],
        passLimit: async () => {
          if (given['idempotency-key'] !== undefined) await limited(request, reply);
          if (order.content) await limitedBytes.items(request, reply, order.content.length);
        },
      });
    });
  }
}

const shared = { tag: 'Internal', authentication: 'service' } as const;

const listContract = {
  ...shared,
  id: 'listStamps',
  summary: 'The stamps of the calling product, newest first',
  description: '`issued_at` and `is_qualified` are as recorded. To have them proved, verify the stamp.',
  query: listQuery,
  answers: { 200: json('One page of the stamps, and their total number.', stampListResponse) },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const parseList = createRequestParser(listContract);

/** Registers the stamp route for products and the list of their stamps. Each request needs a service token (E4). */
export function registerProductRoutes(app: FastifyInstance, context: ServerContext, tools: StampTools): void {
  const { requireProduct, sealedMaxBytes, judgeCallback, productLimit } = context;
  const stampContract = {
    ...shared,
    id: 'stampInternal',
    summary: 'Stamp a hash, or content in tier sealed',
    query: detailsQuery,
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
    const { query, headers, body: order } = parseStamp(request);
    return answerStamp(request, reply, tools, query, order, {
      caller: { kind: 'internal', product },
      callerId: callerIdOf(request, product),
      requestId: request.id,
      idempotencyKey: headers['idempotency-key'],
      paymentClaim: undefined,
      passLimit: () => productLimit(request, reply),
    });
  });

  app.get('/api/v1/internal/v1/stamps', { config: { contract: listContract } }, async (request, reply): Promise<StampListResponse> => {
    const product = await requireProduct(request, reply);
    const { query } = parseList(request);
    const { items, total } = await listStamps(tools.store, product, query);
    return { items: wantsDetails(request, query) ? items : items.map(({ imprint, ...fields }) => fields), total };
  });
}

/** Makes a stamp. If the client prefers not to wait, it only accepts the request and answers 202 with the address of the outcome. */
async function answerStamp(
  request: FastifyRequest,
  reply: FastifyReply,
  tools: StampTools,
  query: z.output<typeof detailsQuery>,
  order: StampOrder,
  rest: Omit<StampCommand, 'entries' | 'operation'>,
): Promise<StampToken | AcceptedStamp> {
  const preferences = readPrefer(request.headers.prefer);
  const command = { ...rest, patienceMs: patienceMsOf(preferences), operation: 'stamp', entries: [{ index: 0, order }] } as const;
  const { answers, isReplayed } = await stampAll(tools, command);
  const answer = await answers[0]!;
  if (isReplayed) reply.header('Idempotent-Replayed', 'true');
  if ('accepted' in answer) return sendAccepted(reply, answer.accepted, preferences);
  reply.code(201);
  return wantsDetails(request, query) ? answer.made : withoutDetails(answer.made);
}

/** Answers 202 with the address of the outcome (N1). */
export function sendAccepted<Accepted extends { readonly verify_url: string }>(
  reply: FastifyReply,
  accepted: Accepted,
  preferences: Preferences,
): Accepted {
  reply.code(202).header('Preference-Applied', asyncApplied(preferences)).header('Location', accepted.verify_url);
  return accepted;
}

/** The answers of every stamp operation. */
const stampAnswers = {
  201: json('The stamp.', stampToken, { 'Idempotent-Replayed': '`true` if an earlier request with the same Idempotency-Key made it.' }),
  202: json('Accepted, if the client prefers not to wait (`Prefer: respond-async`).', acceptedStamp, acceptedHeaders),
  504: json('Accepted and not finished in time. It becomes readable at `verify_url`.', pendingStamp, { 'Retry-After': 'Seconds.' }),
};

const stampErrors: readonly ErrorCode[] = [
  'idempotency_key_reused',
  'provider_failed',
  'queue_unavailable',
  'store_unavailable',
  'overloaded',
];

const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';

const bulkShared = {
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
  ...bulkShared,
  tag: 'Agent',
  id: 'stampAgentBatch',
  headers: idempotencyHeadersOfAddress.extend(preferHeaders.shape).extend(agentHeaders.shape),
} satisfies OperationContract;

const internalContract = {
  ...bulkShared,
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
        callerId: callerIdOf(request, undefined),
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
        callerId: callerIdOf(request, product),
        idempotencyKey: headers['idempotency-key'],
        paymentClaim: undefined,
        passLimit: () => productLimit.items(request, reply, bulk.size),
      });
    });
  });
}
