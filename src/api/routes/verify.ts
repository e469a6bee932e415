import type { FastifyInstance } from 'fastify';
import { rawVerifyRequest, tokenPath } from '../../shared/contract/verify.ts';
import { addressKey, type RateLimits } from '../plugins/rate-limits.ts';
import { createRequestParser } from '../plugins/validation.ts';
import type { ExchangePart, Verification } from '../services/verification.ts';

const parseById = createRequestParser({ path: tokenPath });
const parseRaw = createRequestParser({ body: rawVerifyRequest });

/** Media type and file name extension of what a stranger verifies with (RFC 3161 §3.4; a bare token is CMS, RFC 5652). */
const downloads: Readonly<Record<ExchangePart, { readonly type: string; readonly extension: string }>> = {
  tsr: { type: 'application/timestamp-reply', extension: 'tsr' },
  tsq: { type: 'application/timestamp-query', extension: 'tsq' },
  token: { type: 'application/timestamp-token', extension: 'tst' },
};

/** Public verification: whatever does not verify answers 200 with `valid: false` and a reason (E6, V4). */
export function registerVerifyRoutes(
  app: FastifyInstance,
  deps: { verification: Verification; limits: RateLimits; perMinute: number },
): void {
  const { verification, limits, perMinute } = deps;
  const onRequest = limits.by({ name: 'verify', points: perMinute, durationSeconds: 60, key: addressKey });

  app.get('/api/v1/verify/v1/token/:token_id', { onRequest }, async (request) => verification.byId(parseById(request).path.token_id));
  app.post('/api/v1/verify/v1/raw', { onRequest }, async (request) => {
    const { token, hash } = parseRaw(request).body;
    return verification.raw(token, hash);
  });

  for (const part of Object.keys(downloads) as ExchangePart[]) {
    const { type, extension } = downloads[part];
    app.get(`/api/v1/verify/v1/token/:token_id/${part}`, { onRequest }, async (request, reply) => {
      const { token_id } = parseById(request).path;
      const der = await verification.exchange(token_id, part);
      reply.header('Content-Type', type);
      reply.header('Content-Disposition', `attachment; filename="${token_id}.${extension}"`);
      return der;
    });
  }
}
