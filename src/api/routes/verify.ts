import type { FastifyInstance } from 'fastify';
import { tokenPath, verifyRequest } from '../../shared/contract/verify.ts';
import { addressKey, type RateLimits } from '../plugins/rate-limits.ts';
import { createRequestParser } from '../plugins/validation.ts';
import type { Verification } from '../services/verification.ts';

const parseById = createRequestParser({ path: tokenPath });
const parseRaw = createRequestParser({ body: verifyRequest });

/** Public verification: whatever does not verify answers 200 with `valid: false` and a reason (E6, V4). */
export function registerVerifyRoutes(
  app: FastifyInstance,
  deps: { verification: Verification; limits: RateLimits; perMinute: number },
): void {
  const { verification, limits, perMinute } = deps;
  const onRequest = limits.by({ name: 'verify', points: perMinute, durationSeconds: 60, key: addressKey });

  app.get('/api/v1/verify/v1/token/:token_id', { onRequest }, async (request) => verification.byId(parseById(request).path.token_id));
  app.post('/api/v1/verify/v1/raw', { onRequest }, async (request) => verification.raw(parseRaw(request).body.token));
}
