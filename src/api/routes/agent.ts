import type { FastifyInstance } from 'fastify';
import { agentHeaders, stampRequestFor } from '../../shared/contract/stamp.ts';
import { stampTiers } from '../../shared/domain/tiers.ts';
import { addressKey, type RateLimits } from '../plugins/rate-limits.ts';
import { createRequestParser } from '../plugins/validation.ts';
import type { Stamping } from '../services/stamping.ts';
import { sendStamp, stampBodyLimit, stampHeaders } from './stamping.ts';

const headers = stampHeaders.extend(agentHeaders.shape);

/** Stamping for agents, one path a tier: the path decides the tier (S5). */
export function registerAgentRoutes(
  app: FastifyInstance,
  deps: { stamping: Stamping; limits: RateLimits; perMinute: number; sealedMaxBytes: number },
): void {
  const { stamping, limits, perMinute, sealedMaxBytes } = deps;
  const limited = limits.by({ name: 'agent', points: perMinute, durationSeconds: 60, key: addressKey });

  for (const tier of stampTiers) {
    const parse = createRequestParser({ headers, body: stampRequestFor({ tier, sealedMaxBytes }) });
    const bodyLimit = tier === 'sealed' ? stampBodyLimit(sealedMaxBytes) : stampBodyLimit(0);
    app.post(`/api/v1/agent/v1/stamp/${tier}`, { bodyLimit, onRequest: limited }, async (request, reply) => {
      const { headers: given, body: order } = parse(request);
      const answer = await stamping.stamp({
        order,
        caller: { kind: 'agent' },
        callerId: `agent:${addressKey(request)}`,
        requestId: request.id,
        idempotencyKey: given['idempotency-key'],
        paymentClaim: given['x-payment-transaction'],
      });
      return sendStamp(reply, answer);
    });
  }
}
