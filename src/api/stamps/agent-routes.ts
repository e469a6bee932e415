import type { FastifyInstance } from 'fastify';
import { idempotencyHeaders, preferHeaders } from '../../shared/contract/parameters.ts';
import { agentHeaders, stampRequestFor } from '../../shared/contract/stamp.ts';
import { type StampTier, stampTiers } from '../../shared/domain/tiers.ts';
import { stampBodyLimit } from '../server/body-reader.ts';
import type { ServerContext } from '../server/context.ts';
import type { OperationContract } from '../server/operation.ts';
import { addressKey, type LimitHook } from '../server/rate-limits.ts';
import { createRequestParser } from '../server/validation.ts';
import { answerStamp, stampAnswers, stampErrors } from './stamp-operation.ts';
import type { Stamping } from './stamping.ts';

const headers = idempotencyHeaders.extend({ ...agentHeaders.shape, ...preferHeaders.shape });

const meanings = {
  basic: 'Only the hash is stamped.',
  plus: 'The hash is stamped and can be verified at `verify_url`.',
  sealed: 'The content is stamped and kept, for whoever holds `sealed_storage_url`; a hash alone is stamped as in the other tiers.',
} as const satisfies Record<StampTier, string>;

/** Stamping for agents, one path a tier: the path decides the tier (S5). */
export function registerAgentRoutes(app: FastifyInstance, context: ServerContext & { readonly stamping: Stamping }): void {
  const { config, stamping, limits, agentLimit: limited, sealedMaxBytes } = context;
  const limitedBytes = limits.by({
    name: 'sealed-bytes',
    points: config.RATE_SEALED_BYTES_PER_HOUR,
    durationSeconds: 3_600,
    unit: 'bytes of sealed content',
    key: addressKey,
  });

  /** A request with a key may be a replay, which is not counted: that is known only once its body is read. */
  const limitUnkeyed: LimitHook = async (request, reply) => {
    if (request.headers['idempotency-key'] === undefined) await limited(request, reply);
  };

  for (const tier of stampTiers) {
    const contract = {
      tag: 'Agent',
      id: `stampAgent${tier.charAt(0).toUpperCase()}${tier.slice(1)}`,
      summary: `Stamp in tier ${tier}`,
      description: meanings[tier],
      headers,
      body: stampRequestFor({ tier, sealedMaxBytes }),
      bodyExample: tier === 'sealed' ? { content_b64: 'aGVsbG8=' } : undefined,
      answers: stampAnswers,
      errors: [...stampErrors, 'rate_limited'],
    } satisfies OperationContract;
    const parse = createRequestParser(contract);
    const options = { bodyLimit: stampBodyLimit(sealedMaxBytes), onRequest: limitUnkeyed, config: { contract } };
    app.post(`/api/v1/agent/v1/stamp/${tier}`, options, async (request, reply) => {
      const { headers: given, body: order } = parse(request);
      return answerStamp(request, reply, stamping, {
        order,
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
