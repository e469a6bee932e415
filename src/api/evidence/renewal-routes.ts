import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { contentBytes, type EvidenceRenewal, evidenceRenewal, sealedContentPath, tokenIdPath } from '../../shared/contract/verify.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Imprint } from '../../shared/domain/stamp.ts';
import type { BodyReader } from '../http/body-reader.ts';
import type { ServerContext } from '../http/context.ts';
import { createImprintHash } from '../http/imprint-hash.ts';
import { json, type OperationContract } from '../http/operation.ts';
import { createRequestParser, RequestValidationError } from '../http/validation.ts';
import { missingBody } from '../http/validation-items.ts';
import { digestsOfSealed } from '../stamps/index.ts';
import type { WorkflowTools } from '../workflows/index.ts';
import { bringDigests } from './renewal.ts';

const contentType = 'application/octet-stream';

/** The maximum size of content from callers with a service token. The content is hashed while it arrives, so it needs time but little memory. */
const mostBytesOfProducts = 1024 ** 3;

const answers = {
  200: json('The evidence record covers the hash.', evidenceRenewal),
  202: json('The hash is stored for the next run of renewals.', evidenceRenewal),
};
const errors = ['not_found', 'conflict', 'rate_limited', 'store_unavailable'] as const;

const contract = {
  tag: 'Verification',
  id: 'renewEvidence',
  summary: 'Renew the evidence of a stamp under a new hash algorithm',
  description:
    'Send the content: this proves the new hash. From the next daily run on, the evidence record covers its SHA-512 ' +
    '(hash-tree renewal, RFC 4998 §5.2). The content is hashed and not stored. A service token allows larger content.',
  path: tokenIdPath,
  bodyTypes: [contentType],
  body: contentBytes,
  answers,
  errors,
} satisfies OperationContract;

const sealedContract = {
  tag: 'Sealed content',
  id: 'renewSealedEvidence',
  summary: 'Renew the evidence of a sealed stamp, from its stored content',
  description: 'At its secret address, without a body.',
  path: sealedContentPath,
  answers,
  errors: [...errors, 'overloaded'],
} satisfies OperationContract;

const parse = createRequestParser({ path: tokenIdPath });
const parseSealed = createRequestParser(sealedContract);

/** Registers the routes for hash-tree renewal. The caller must have the content, or the secret address of sealed content (S17). */
export function registerRenewalRoutes(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  const { identifyProduct, reader, mistakes, limitVerifying: onRequest, sealedMaxBytes, largeAnswers } = context;

  async function answer(request: FastifyRequest, reply: FastifyReply, bring: () => Promise<EvidenceRenewal>) {
    const renewal = await mistakes.count(request, reply, bring);
    return reply.code(renewal.is_renewed ? 200 : 202).send(renewal);
  }

  app.register(async (scope) => {
    registerContentBodies(scope, reader, (request) => (identifyProduct(request) === undefined ? sealedMaxBytes : mostBytesOfProducts));
    const options = { onRequest, bodyLimit: mostBytesOfProducts, config: { contract } };
    scope.post('/api/v1/verify/v1/token/:token_id/evidence', options, async (request, reply) => {
      const { token_id } = parse(request).path;
      return answer(request, reply, () => bringDigests(tools, token_id, contentDigestsIn(request)));
    });
  });

  const options = { onRequest, config: { contract: sealedContract } };
  app.post('/api/v1/sealed/v1/:token_id/:secret/evidence', options, async (request, reply) => {
    const { token_id, secret } = parseSealed(request).path;
    // The answer is short, but the service reads as many bytes as for a download.
    largeAnswers.begin(request, reply);
    reply.header('Cache-Control', 'private, no-store');
    return answer(request, reply, async () => bringDigests(tools, token_id, await digestsOfSealed(tools.store, token_id, secret)));
  });
}

/** Makes the routes of a scope read bodies as content and keep only their hashes. `limitOf`: the maximum size for a caller, in bytes. */
function registerContentBodies(scope: FastifyInstance, reader: BodyReader, limitOf: (request: FastifyRequest) => number): void {
  scope.removeContentTypeParser(['application/json', '*']);
  scope.addContentTypeParser(contentType, (request: FastifyRequest, payload: IncomingMessage) =>
    reader.digest(request, payload, limitOf(request)),
  );
  const otherType = new ServiceError('unsupported_media_type', `The body must be the content itself, with Content-Type ${contentType}.`);
  scope.addContentTypeParser('*', async () => Promise.reject(otherType));
}

/** The hashes of a body that `registerContentBodies` has read. @throws RequestValidationError if there is no body */
function contentDigestsIn({ body, headers }: FastifyRequest): readonly Imprint[] {
  if (Array.isArray(body)) return body as readonly Imprint[];
  // Fastify calls no parser for an empty body. With the right type it is the content of an empty file.
  if (headers['content-type']?.startsWith(contentType)) return createImprintHash().imprints();
  throw new RequestValidationError([missingBody]);
}
