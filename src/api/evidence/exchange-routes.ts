import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { containerOf } from '../../shared/archive/asics.ts';
import { contentBytes, type EvidenceRenewal, evidenceRenewal, sealedContentPath, tokenIdPath } from '../../shared/contract/verify.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Imprint } from '../../shared/domain/stamp.ts';
import { containerType } from '../../shared/proof/asics.js';
import { type BodyReader, createImprintHash } from '../http/body-reader.ts';
import type { ServerContext } from '../http/context.ts';
import { bytes, json, type OperationContract } from '../http/operation.ts';
import { createRequestParser, missingBody, RequestValidationError } from '../http/validation.ts';
import { digestsOfSealed, sealedAddress, sealedOpener } from '../stamps/index.ts';
import type { ApiTools } from '../tools.ts';
import type { WorkflowTools } from '../workflows/index.ts';
import { bringDigests, createHeldEvidenceReader, type ExchangePart, readExchange, tsaProofOf } from './stamp-evidence.ts';

/** A response header: one exchange with a TSA may belong to many stamps. */
const batchHeader = {
  'Qstamp-Batch':
    'Present if the TSA signed the root of a batch, so this file is for that root: the id of the batch, the number of its leaves, and the root in hexadecimal.',
};

const exchanged = 'The bytes exactly as exchanged with the TSA.';

/** The files for other verifiers (RFC 3161 §3.4; a bare token is CMS, RFC 5652; an evidence record has no media type of its own). */
const downloads: Readonly<Record<ExchangePart, Readonly<Record<'id' | 'summary' | 'answer' | 'type' | 'extension', string>>>> = {
  tsr: {
    ...{ id: 'downloadTimeStampResponse', summary: 'The time-stamp response, DER', answer: exchanged },
    ...{ type: 'application/timestamp-reply', extension: 'tsr' },
  },
  tsq: {
    ...{ id: 'downloadTimeStampRequest', summary: 'The time-stamp request, DER', answer: exchanged },
    ...{ type: 'application/timestamp-query', extension: 'tsq' },
  },
  token: {
    ...{ id: 'downloadTimeStampToken', summary: 'The time-stamp token, DER', answer: exchanged },
    ...{ type: 'application/timestamp-token', extension: 'tst' },
  },
  evidence: {
    ...{ id: 'downloadEvidenceRecord', summary: 'The evidence record (RFC 4998), DER' },
    answer: 'The token as an evidence record. It can be renewed, so it outlives its certificates.',
    ...{ type: 'application/octet-stream', extension: 'ers' },
  },
};

const exchangeContract = (part: ExchangePart): OperationContract => ({
  tag: 'Verification',
  id: downloads[part].id,
  summary: downloads[part].summary,
  description: 'For other verifiers, e.g. `openssl ts -verify`. Not available for stamps of the mock provider.',
  path: tokenIdPath,
  answers: { 200: { ...bytes(downloads[part].answer, downloads[part].type), ...(part !== 'evidence' && { headers: batchHeader }) } },
  errors: ['rate_limited', 'store_unavailable', 'not_found'],
});

const parse = createRequestParser({ path: tokenIdPath });

/** Serves the files of a stamp for other verifiers (S14). */
export function registerExchangeRoutes(
  app: FastifyInstance,
  { mistakes, limitVerifying: onRequest }: ServerContext,
  { store }: ApiTools,
): void {
  for (const part of Object.keys(downloads) as ExchangePart[]) {
    const { type, extension } = downloads[part];
    app.get(
      `/api/v1/verify/v1/token/:token_id/${part}`,
      { onRequest, config: { contract: exchangeContract(part) } },
      async (request, reply) => {
        const { token_id } = parse(request).path;
        const { der, batch } = await mistakes.count(request, reply, () => readExchange(store, token_id, part));
        if (batch) reply.header('Qstamp-Batch', `${batch.batchId}; leaves=${batch.leaves}; root=${batch.root.digest}`);
        reply.header('Content-Type', type);
        reply.header('Content-Disposition', `attachment; filename="${batch ? 'batch-root' : token_id}.${extension}"`);
        return der;
      },
    );
  }
}

const contract = {
  tag: 'Sealed content',
  id: 'downloadSealedContainer',
  summary: 'Content and time-stamp as an ASiC-S container (EN 319 162-1)',
  description:
    'At the same secret address. Other verifiers can read it. The octets are the same each time. Stamps of the mock provider have no container.',
  path: sealedContentPath,
  answers: { 200: bytes('The container.', containerType) },
  errors: ['not_found', 'rate_limited', 'store_unavailable', 'overloaded'],
} satisfies OperationContract;

/** Serves the content and the proof of a sealed stamp as an ASiC-S container (S11). The bytes are the same until the evidence is renewed. */
export function registerContainerRoute(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  const open = sealedOpener(context, tools);
  const options = { onRequest: context.limitVerifying, exposeHeadRoute: false, config: { contract } };
  app.get(`${sealedAddress}/container`, options, async (request, reply) => {
    const { stamp, size, crc32, read } = await open(request, reply, 'asics');
    tsaProofOf(stamp, 'nothing to pack', 'no time-stamp token to pack');
    const held = await createHeldEvidenceReader(tools.stampJudge)(stamp);
    const file = { name: `${stamp.tokenId}.bin`, size, crc32, octets: read() };
    return reply.type(containerType).send(Readable.from(containerOf(file, held!.bytes), { objectMode: false }));
  });
}

const contentType = 'application/octet-stream';

/** The maximum size of content from callers with a service token. The content is hashed while it arrives, so it needs time but little memory. */
const mostBytesOfProducts = 1024 ** 3;

const answers = {
  200: json('The evidence record covers the hash.', evidenceRenewal),
  202: json('The hash is stored for the next run of renewals.', evidenceRenewal),
};
const errors = ['not_found', 'conflict', 'rate_limited', 'store_unavailable'] as const;

const renewalContract = {
  tag: 'Verification',
  id: 'renewEvidence',
  authentication: 'service',
  isTokenOptional: true,
  summary: 'Renew the evidence of a stamp under a new hash algorithm',
  description:
    'Send the content: this proves the new hash. From the next daily run on, the evidence record covers its SHA-512 ' +
    '(hash-tree renewal, RFC 4998 §5.2). The content is hashed and not stored. A service token allows larger content.',
  path: tokenIdPath,
  bodyTypes: [contentType],
  body: contentBytes,
  answers,
  errors: [...errors, 'unauthorized'],
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
    const options = { onRequest, bodyLimit: mostBytesOfProducts, config: { contract: renewalContract } };
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
