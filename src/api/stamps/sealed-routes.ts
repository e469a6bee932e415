import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { containerType } from '../../shared/archive/asics.ts';
import { sealedContentPath } from '../../shared/contract/verify.ts';
import type { ApiContext } from '../server/context.ts';
import { bytes, type OperationContract } from '../server/operation.ts';
import { createRequestParser } from '../server/validation.ts';

const tag = 'Sealed content';
const errors = ['not_found', 'rate_limited', 'store_unavailable', 'overloaded'] as const;

const contentContract = {
  tag,
  id: 'downloadSealedContent',
  summary: 'The content of a sealed stamp',
  description: 'At the secret address that the stamp operation answered as `sealed_storage_url`; checked against its hash on the way out.',
  path: sealedContentPath,
  answers: { 200: bytes('The content, byte for byte.', 'application/octet-stream') },
  errors,
} satisfies OperationContract;

const containerContract = {
  tag,
  id: 'downloadSealedContainer',
  summary: 'Content and time-stamp as an ASiC-S container (EN 319 162-1)',
  description: 'At the same secret address. Verifiers of others read it. The same octets each time. Stamps of the mock provider have none.',
  path: sealedContentPath,
  answers: { 200: bytes('The container.', containerType) },
  errors,
} satisfies OperationContract;

const parse = createRequestParser({ path: sealedContentPath });

/** The content of a sealed stamp at its secret address (S11). */
export function registerSealedRoutes(app: FastifyInstance, context: ApiContext): void {
  const { sealedDownload, largeAnswers, mistakes, limitVerifying: onRequest } = context;

  /** Nobody but its reader may keep it; `extension` names the file. */
  async function open<Opened>(
    request: FastifyRequest,
    reply: FastifyReply,
    extension: string,
    openAt: (tokenId: string, secret: string) => Promise<Opened>,
  ): Promise<Opened> {
    const { token_id, secret } = parse(request).path;
    largeAnswers.begin(request, reply);
    const opened = await mistakes.count(request, reply, () => openAt(token_id, secret));
    reply.header('Content-Disposition', `attachment; filename="${token_id}.${extension}"`);
    reply.header('Cache-Control', 'private, no-store');
    return opened;
  }

  const path = '/api/v1/sealed/v1/:token_id/:secret';
  const options = { onRequest, exposeHeadRoute: false } as const;
  app.get(path, { ...options, config: { contract: contentContract } }, async (request, reply) => {
    const { content, bytes, hash } = await open(request, reply, 'bin', sealedDownload.content);
    reply.header('Content-Type', 'application/octet-stream');
    reply.header('Repr-Digest', `sha-256=:${Buffer.from(hash, 'hex').toString('base64')}:`);
    reply.header('Content-Length', bytes);
    return reply.send(content);
  });
  app.get(`${path}/container`, { ...options, config: { contract: containerContract } }, async (request, reply) => {
    const container = await open(request, reply, 'asics', sealedDownload.container);
    return reply.type(containerType).send(container);
  });
}
