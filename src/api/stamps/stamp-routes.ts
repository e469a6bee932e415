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
import { type StampTier, stampTiers } from '../../shared/domain/stamp.ts';
import { beforeBody, stampBodyLimit } from '../http/body-reader.ts';
import type { ServerContext } from '../http/context.ts';
import { type Bulk, bulkBodyLimit, readBulk, registerBulkBodies } from '../http/json-body.ts';
import {
  acceptedBulkOf,
  acceptedHeaders,
  bulkAnswersOf,
  json,
  type OperationContract,
  patienceMsOf,
  readPrefer,
  wantsDetails,
} from '../http/operation.ts';
import { addressKey, callerIdOf } from '../http/rate-limits.ts';
import { createRequestParser, RequestValidationError } from '../http/validation.ts';
import { answerBulk, answerOne, inBrief } from './answers.ts';
import type { Answers } from './request.ts';
import { listStamps } from './stamp-list.ts';
import { type StampCommand, stampAll } from './stamping.ts';
import type { StampTools } from './submission.ts';

/** Registers the routes that make stamps, one or many in a request (L1), for agents and for products, and the list of a product's stamps. */
export function registerStampRoutes(app: FastifyInstance, context: ServerContext, tools: StampTools): void {
  registerProductRoutes(app, context, tools);
  registerAgentRoutes(app, context, tools);
  registerBulkRoutes(app, context, tools);
}

const stampErrors: readonly ErrorCode[] = [
  'idempotency_key_reused',
  'provider_failed',
  'queue_unavailable',
  'store_unavailable',
  'overloaded',
  'rate_limited',
];

const stampContract = {
  query: detailsQuery,
  answers: {
    201: json('The stamp.', stampToken, { 'Idempotent-Replayed': '`true` if an earlier request with the same Idempotency-Key made it.' }),
    202: json('Accepted, if the client prefers not to wait (`Prefer: respond-async`).', acceptedStamp, acceptedHeaders),
    504: json('Accepted and not finished in time. It becomes readable at `verify_url`.', pendingStamp, { 'Retry-After': 'Seconds.' }),
  },
  errors: stampErrors,
} as const;

const ofAgents = {
  tag: 'Agent',
  headers: idempotencyHeadersOfAddress.extend({ ...agentHeaders.shape, ...preferHeaders.shape }),
} as const;

/** Each request of a product needs a service token (E4). */
const ofProducts = { tag: 'Internal', authentication: 'service' } as const;
const productHeaders = idempotencyHeaders.extend(preferHeaders.shape);

type CallerHeaders = z.output<typeof productHeaders> & Partial<z.output<typeof agentHeaders>>;

/** A product, or an agent without one. */
const callerOf = (request: FastifyRequest, headers: CallerHeaders, product?: string) => ({
  caller: product === undefined ? ({ kind: 'agent' } as const) : ({ kind: 'internal', product } as const),
  callerId: callerIdOf(request, product),
  requestId: request.id,
  idempotencyKey: headers['idempotency-key'],
  paymentClaim: headers['x-payment-transaction'],
});

const meanings = {
  basic: 'Only the hash is stamped.',
  plus: 'The hash is stamped and can be verified at `verify_url`.',
  sealed:
    'The content is stamped and stored. Everybody who knows `sealed_storage_url` can read it. A hash alone is stamped as in the other tiers.',
} as const satisfies Record<StampTier, string>;

/** Each tier has its own path, and the path decides the tier (S5). */
function registerAgentRoutes(app: FastifyInstance, context: ServerContext, tools: StampTools): void {
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
  const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
    if (request.headers['idempotency-key'] === undefined) await limited(request, reply);
  };

  for (const tier of stampTiers) {
    const contract = {
      ...ofAgents,
      ...stampContract,
      id: `stampAgent${tier.charAt(0).toUpperCase()}${tier.slice(1)}`,
      summary: `Stamp in tier ${tier}`,
      description: meanings[tier],
      body: stampRequestFor({ tier, sealedMaxBytes }),
      bodyExample: tier === 'sealed' ? { content_b64: 'aGVsbG8=' } : undefined,
    } satisfies OperationContract;
    const parse = createRequestParser(contract);
    const options = { bodyLimit: stampBodyLimit(sealedMaxBytes), onRequest, config: { contract } };
    app.post(`/api/v1/agent/v1/stamp/${tier}`, options, async (request, reply) => {
      const { query, headers, body: order } = parse(request);
      const caller = callerOf(request, headers);
      const passLimit = async () => {
        if (caller.idempotencyKey !== undefined) await limited(request, reply);
        if (order.content) await limitedBytes.items(request, reply, order.content.length);
      };
      const entries = [{ index: 0, order }];
      return answerOne(request, reply, await stamp(request, tools, query, { ...caller, passLimit, entries }));
    });
  }
}

const listContract = {
  ...ofProducts,
  id: 'listStamps',
  summary: 'The stamps of the calling product, newest first',
  description: '`issued_at` and `is_qualified` are as recorded. To have them proved, verify the stamp.',
  query: listQuery,
  answers: { 200: json('One page of the stamps, and their total number.', stampListResponse) },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const parseList = createRequestParser(listContract);

function registerProductRoutes(app: FastifyInstance, context: ServerContext, tools: StampTools): void {
  const { requireProduct, sealedMaxBytes, judgeCallback, productLimit } = context;
  const contract = {
    ...ofProducts,
    ...stampContract,
    id: 'stampInternal',
    summary: 'Stamp a hash, or content in tier sealed',
    headers: productHeaders,
    body: stampRequestFor({ sealedMaxBytes, judgeCallback }),
  } satisfies OperationContract;
  const parse = createRequestParser(contract);

  const options = { bodyLimit: stampBodyLimit(sealedMaxBytes), onRequest: beforeBody(requireProduct), config: { contract } };
  app.post('/api/v1/internal/v1/stamp', options, async (request, reply) => {
    const product = await requireProduct(request, reply);
    const { query, headers, body: order } = parse(request);
    const passLimit = () => productLimit(request, reply);
    const entries = [{ index: 0, order }];
    const command = { ...callerOf(request, headers, product), passLimit, entries };
    return answerOne(request, reply, await stamp(request, tools, query, command));
  });

  app.get('/api/v1/internal/v1/stamps', { config: { contract: listContract } }, async (request, reply): Promise<StampListResponse> => {
    const product = await requireProduct(request, reply);
    const { query } = parseList(request);
    const { items, total } = await listStamps(tools.store, product, query);
    return { items: wantsDetails(request, query) ? items : items.map(({ imprint, ...fields }) => fields), total };
  });
}

/** Makes the stamps of a request. The answers have details only if the client wants them (E15). */
async function stamp(
  request: FastifyRequest,
  tools: StampTools,
  query: z.output<typeof detailsQuery>,
  command: StampCommand,
): Promise<Answers<StampToken, AcceptedStamp>> {
  const patienceMs = patienceMsOf(readPrefer(request.headers.prefer));
  const stamped = await stampAll(tools, { ...command, patienceMs });
  return wantsDetails(request, query) ? stamped : inBrief(stamped, withoutDetails);
}

const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';

const bulkContract = {
  summary: 'Stamp up to 1 000 hashes',
  description:
    'Send an array, or a line for each item (`application/x-ndjson`). The answer has the same format and order; lines come as stamps are made. Each item ' +
    'succeeds or fails on its own. All items must have the same tier, and none may have content. One Idempotency-Key covers them all, and so does `Prefer: respond-async`.',
  query: detailsQuery,
  body: stampBulkBody,
  bodyExample: [{ hash }, { hash, metadata: { project: 'aurora' } }],
  answers: { ...bulkAnswersOf(stampBulkAnswer), ...acceptedBulkOf(acceptedStampsAnswer) },
  errors: stampErrors.filter((code) => code !== 'provider_failed'),
} as const;

const agentBulk = { ...bulkContract, ...ofAgents, id: 'stampAgentBatch' } satisfies OperationContract;
const productBulk = { ...bulkContract, ...ofProducts, id: 'stampInternalBatch', headers: productHeaders } satisfies OperationContract;

// The items of a bulk request are parsed one by one.
const parseAgentBulk = createRequestParser({ query: detailsQuery, headers: ofAgents.headers });
const parseProductBulk = createRequestParser({ query: detailsQuery, headers: productHeaders });

function registerBulkRoutes(app: FastifyInstance, context: ServerContext, tools: StampTools): void {
  const { judgeCallback, requireProduct, reader, largeAnswers, agentLimit, productLimit } = context;
  const agentItem = stampRequestFor({ takesNoContent: true });
  const productItem = stampRequestFor({ takesNoContent: true, judgeCallback });

  app.register(async (scope) => {
    registerBulkBodies(scope, reader);

    const agentOptions = { bodyLimit: bulkBodyLimit, config: { contract: agentBulk } };
    scope.post('/api/v1/agent/v1/stamps', agentOptions, async (request, reply) => {
      const { query, headers } = parseAgentBulk(request);
      const bulk = readOrders(request, agentItem);
      const passLimit = () => agentLimit.items(request, reply, bulk.size);
      const caller = { ...callerOf(request, headers), passLimit, isBulk: true };
      return answerBulk(request, reply, largeAnswers, bulk, (entries) => stamp(request, tools, query, { ...caller, entries }));
    });

    const productOptions = { bodyLimit: bulkBodyLimit, onRequest: beforeBody(requireProduct), config: { contract: productBulk } };
    scope.post('/api/v1/internal/v1/stamps', productOptions, async (request, reply) => {
      const product = await requireProduct(request, reply);
      const { query, headers } = parseProductBulk(request);
      const bulk = readOrders(request, productItem);
      const passLimit = () => productLimit.items(request, reply, bulk.size);
      const caller = { ...callerOf(request, headers, product), passLimit, isBulk: true };
      return answerBulk(request, reply, largeAnswers, bulk, (entries) => stamp(request, tools, query, { ...caller, entries }));
    });
  });
}

/** Reads the items of a bulk request. @throws RequestValidationError if the valid items have different tiers, and as `readBulk` */
function readOrders(request: FastifyRequest, item: ReturnType<typeof stampRequestFor>): Bulk<StampOrder> {
  const bulk = readBulk(request, item);
  if (new Set(bulk.entries.map(({ item: { tier } }) => tier)).size < 2) return bulk;
  const msg = 'Value error, all items must be of one tier';
  throw new RequestValidationError([{ type: 'value_error', loc: ['body'], msg, input: null, ctx: { error: {} } }]);
}
