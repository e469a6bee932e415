import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { preferHeaders } from '../../shared/contract/parameters.ts';
import { rawVerifyRequest, tokenIdPath, verificationResult } from '../../shared/contract/verify.ts';
import { prefersPage } from '../server/accept.ts';
import { tokenBodyLimit } from '../server/body-reader.ts';
import type { ApiContext } from '../server/context.ts';
import { bytes, json, type OperationContract } from '../server/operation.ts';
import { readPrefer } from '../server/prefer.ts';
import { createRequestParser } from '../server/validation.ts';
import { type ExchangePart, isUnknownId } from './verification.ts';

const tag = 'Verification';
const errors = ['rate_limited', 'store_unavailable'] as const;

const byIdContract = {
  tag,
  id: 'verifyToken',
  summary: 'Verify a stamp by its id',
  description:
    'The stored token is checked cryptographically each time; an id that is not known answers `valid` false. A browser gets a page.',
  path: tokenIdPath,
  headers: preferHeaders,
  answers: {
    200: { description: 'Whether it is valid, and why not.', content: { 'application/json': verificationResult, 'text/html': null } },
  },
  errors,
} satisfies OperationContract;

const rawContract = {
  tag,
  id: 'verifyRawToken',
  summary: 'Verify a token',
  description: 'Any token of this service, any RFC 3161 token and any evidence record (RFC 4998) that leads to a configured trust anchor.',
  body: rawVerifyRequest,
  answers: { 200: json('Whether it is valid, and why not.', verificationResult) },
  errors,
} satisfies OperationContract;

/** One exchange may be for many stamps (S14). */
const batchHeader = {
  'Qstamp-Batch':
    'Where the TSA signed the root of a batch, and this file is for that root: its id, how many leaves it has, and the root in hexadecimal.',
};

const exchangeContract = (part: ExchangePart): OperationContract => ({
  tag,
  id: downloads[part].id,
  summary: downloads[part].summary,
  description: 'For verifiers other than this service, e.g. `openssl ts -verify`. Stamps of the mock provider have none.',
  path: tokenIdPath,
  answers: { 200: { ...bytes(downloads[part].answer, downloads[part].type), ...(part !== 'evidence' && { headers: batchHeader }) } },
  errors: [...errors, 'not_found'],
});

const parseById = createRequestParser(byIdContract);
const parseRaw = createRequestParser(rawContract);

const exchanged = 'The bytes as they were exchanged with the TSA.';

/** What a stranger verifies with (RFC 3161 §3.4; a bare token is CMS, RFC 5652; an evidence record has no media type of its own). */
const downloads = {
  tsr: {
    id: 'downloadTimeStampResponse',
    summary: 'The time-stamp response, DER',
    answer: exchanged,
    type: 'application/timestamp-reply',
    extension: 'tsr',
  },
  tsq: {
    id: 'downloadTimeStampRequest',
    summary: 'The time-stamp request, DER',
    answer: exchanged,
    type: 'application/timestamp-query',
    extension: 'tsq',
  },
  token: {
    id: 'downloadTimeStampToken',
    summary: 'The time-stamp token, DER',
    answer: exchanged,
    type: 'application/timestamp-token',
    extension: 'tst',
  },
  evidence: {
    id: 'downloadEvidenceRecord',
    summary: 'The evidence record (RFC 4998), DER',
    answer: 'The token as an evidence record, which can be renewed and outlives its certificates.',
    type: 'application/octet-stream',
    extension: 'ers',
  },
} as const satisfies Readonly<Record<ExchangePart, object>>;

/** Public verification: whatever does not verify answers 200 with `valid: false` and a reason (E6, V4). */
export function registerVerifyRoutes(app: FastifyInstance, context: ApiContext): void {
  const { untilKnown, verification, stampPages, mistakes, limitVerifying: onRequest, baseUrl } = context;

  const countUnknown = async (request: FastifyRequest, reply: FastifyReply, isUnknown: boolean) => {
    if (isUnknown) await mistakes.unknownId(request, reply);
  };
  app.get('/api/v1/verify/v1/token/:token_id', { onRequest, config: { contract: byIdContract } }, async (request, reply) => {
    const { token_id } = parseById(request).path;
    reply.header('Vary', 'Accept');
    if (!prefersPage(request)) {
      const { waitSeconds } = readPrefer(request.headers.prefer);
      if (waitSeconds > 0) reply.header('Preference-Applied', `wait=${waitSeconds}`);
      const result = await untilKnown(token_id, waitSeconds, () => request.raw.destroyed || reply.raw.destroyed);
      await countUnknown(request, reply, isUnknownId(result));
      return result;
    }
    reply.header('X-Robots-Tag', 'noindex, nofollow');
    const shown = await stampPages.byId(token_id, baseUrl());
    await countUnknown(request, reply, shown.verdict.kind === 'unknown');
    return reply.page('verify', shown);
  });
  app.post('/api/v1/verify/v1/raw', { onRequest, bodyLimit: tokenBodyLimit, config: { contract: rawContract } }, async (request) => {
    const { token, hash, hashes } = parseRaw(request).body;
    return verification.raw(token, hash, hashes);
  });

  for (const part of Object.keys(downloads) as ExchangePart[]) {
    const { type, extension } = downloads[part];
    app.get(
      `/api/v1/verify/v1/token/:token_id/${part}`,
      { onRequest, config: { contract: exchangeContract(part) } },
      async (request, reply) => {
        const { token_id } = parseById(request).path;
        const { der, batch } = await mistakes.count(request, reply, () => verification.exchange(token_id, part));
        if (batch) reply.header('Qstamp-Batch', `${batch.batchId}; leaves=${batch.leaves}; root=${batch.root.digest}`);
        reply.header('Content-Type', type);
        reply.header('Content-Disposition', `attachment; filename="${batch ? 'batch-root' : token_id}.${extension}"`);
        return der;
      },
    );
  }
}
