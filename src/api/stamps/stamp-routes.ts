import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
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
import { beforeBody } from '../http/before-body.ts';
import { stampBodyLimit } from '../http/body-reader.ts';
import type { ServerContext } from '../http/context.ts';
import { acceptedHeaders, json, type OperationContract } from '../http/operation.ts';
import { asyncApplied, type Preferences, patienceMsOf, readPrefer, wantsDetails } from '../http/prefer.ts';
import { addressKey, type LimitHook } from '../http/rate-limits.ts';
import { createRequestParser } from '../http/validation.ts';
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
        callerId: `agent:${addressKey(request)}`,
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
      callerId: `product:${product}`,
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

export const stampErrors: readonly ErrorCode[] = [
  'idempotency_key_reused',
  'provider_failed',
  'queue_unavailable',
  'store_unavailable',
  'overloaded',
];
