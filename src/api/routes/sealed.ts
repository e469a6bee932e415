import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { tokenPath } from '../../shared/contract/verify.ts';
import { createRequestParser } from '../plugins/validation.ts';
import type { DownloadSealed } from '../services/sealed-download.ts';

const parse = createRequestParser({ path: tokenPath.extend({ secret: z.string() }) });

/** The content of a sealed stamp at its capability address (S11). */
export function registerSealedRoutes(app: FastifyInstance, deps: { downloadSealed: DownloadSealed }): void {
  app.get('/api/v1/sealed/v1/:token_id/:secret', async (request, reply) => {
    const { token_id, secret } = parse(request).path;
    const { content, hash } = await deps.downloadSealed(token_id, secret);
    reply.header('Content-Type', 'application/octet-stream');
    reply.header('Content-Disposition', `attachment; filename="${token_id}.bin"`);
    reply.header('Repr-Digest', `sha-256=:${Buffer.from(hash, 'hex').toString('base64')}:`);
    reply.header('Cache-Control', 'private, no-store');
    return content;
  });
}
