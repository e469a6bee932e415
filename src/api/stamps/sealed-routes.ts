import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sealedContentPath } from '../../shared/contract/verify.ts';
import type { ServerContext } from '../http/context.ts';
import { bytes, type OperationContract } from '../http/operation.ts';
import { createRequestParser } from '../http/validation.ts';
import { type OpenedContent, openSealed } from './sealed-contents.ts';
import type { StampTools } from './submission.ts';

const tag = 'Sealed content';
const errors = ['not_found', 'rate_limited', 'store_unavailable', 'overloaded'] as const;

const contentContract = {
  tag,
  id: 'downloadSealedContent',
  summary: 'The content of a sealed stamp',
  description:
    'At the secret address `sealed_storage_url` from the stamp operation. The service checks the hash of the content before it sends it.',
  path: sealedContentPath,
  answers: { 200: bytes('The content, byte for byte.', 'application/octet-stream') },
  errors,
} satisfies OperationContract;

const parse = createRequestParser({ path: sealedContentPath });

/** The path of a stamp's content. The path of its container begins with it. */
export const sealedAddress = '/api/v1/sealed/v1/:token_id/:secret';

/**
 * Creates a function that opens the content at the secret URL of a request and sets the headers of a download. No cache may store the answer.
 * `extension` is for the file name.
 */
export function sealedOpener({ largeAnswers, mistakes }: ServerContext, { store }: StampTools) {
  return async (request: FastifyRequest, reply: FastifyReply, extension: string): Promise<OpenedContent> => {
    const { token_id, secret } = parse(request).path;
    largeAnswers.begin(request, reply);
    const opened = await mistakes.count(request, reply, () => openSealed(store, token_id, secret));
    reply.header('Content-Disposition', `attachment; filename="${token_id}.${extension}"`);
    reply.header('Cache-Control', 'private, no-store');
    return opened;
  };
}

/** Serves the content of a sealed stamp at its secret address (S11). */
export function registerSealedRoutes(app: FastifyInstance, context: ServerContext, tools: StampTools): void {
  const open = sealedOpener(context, tools);
  const options = { onRequest: context.limitVerifying, exposeHeadRoute: false, config: { contract: contentContract } };
  app.get(sealedAddress, options, async (request, reply) => {
    const { stamp, size, read } = await open(request, reply, 'bin');
    reply.header('Content-Type', 'application/octet-stream');
    reply.header('Repr-Digest', `sha-256=:${Buffer.from(stamp.imprint.digest, 'hex').toString('base64')}:`);
    reply.header('Content-Length', size);
    return reply.send(Readable.from(read(), { objectMode: false }));
  });
}
