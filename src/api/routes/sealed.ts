import type { FastifyInstance } from 'fastify';
import { sealedContentPath } from '../../shared/contract/verify.ts';
import type { ByteBudget } from '../http/byte-budget.ts';
import type { Mistakes } from '../http/mistakes.ts';
import { addressKey, type RateLimits } from '../http/rate-limits.ts';
import { reserveForReply } from '../http/reply-memory.ts';
import { createRequestParser } from '../http/validation.ts';
import { bytes, type OperationContract } from '../openapi/operation.ts';
import type { DownloadSealed } from '../services/sealed-download.ts';

const contract = {
  tag: 'Sealed content',
  id: 'downloadSealedContent',
  summary: 'The content of a sealed stamp',
  description: 'At the secret address that the stamp operation answered as `sealed_storage_url`; checked against its hash on the way out.',
  path: sealedContentPath,
  answers: { 200: bytes('The content, byte for byte.', 'application/octet-stream') },
  errors: ['not_found', 'rate_limited', 'store_unavailable', 'overloaded'],
} satisfies OperationContract;

const parse = createRequestParser(contract);

/** The content of a sealed stamp at its secret address (S11). */
export function registerSealedRoutes(
  app: FastifyInstance,
  deps: { downloadSealed: DownloadSealed; budget: ByteBudget; limits: RateLimits; mistakes: Mistakes; perMinute: number },
): void {
  const { downloadSealed, budget, limits, mistakes, perMinute } = deps;
  const onRequest = limits.by({ name: 'verify', points: perMinute, durationSeconds: 60, key: addressKey });

  app.get('/api/v1/sealed/v1/:token_id/:secret', { onRequest, config: { contract } }, async (request, reply) => {
    const { token_id, secret } = parse(request).path;
    const reserve = (bytes: number) => reserveForReply(budget, reply, bytes);
    const { content, hash } = await mistakes.count(request, reply, () => downloadSealed(token_id, secret, reserve));
    reply.header('Content-Type', 'application/octet-stream');
    reply.header('Content-Disposition', `attachment; filename="${token_id}.bin"`);
    reply.header('Repr-Digest', `sha-256=:${Buffer.from(hash, 'hex').toString('base64')}:`);
    reply.header('Cache-Control', 'private, no-store');
    return content;
  });
}
