import type { FastifyInstance } from 'fastify';
import { tokenIdPath } from '../../shared/contract/verify.ts';
import type { ServerContext } from '../http/context.ts';
import { bytes, type OperationContract } from '../http/operation.ts';
import { createRequestParser } from '../http/validation.ts';
import type { ApiTools } from '../tools.ts';
import { type ExchangePart, readExchange } from './exchange.ts';

/** A response header: one exchange with a TSA may belong to many stamps. */
const batchHeader = {
  'Qstamp-Batch':
    'Present if the TSA signed the root of a batch, so this file is for that root: the id of the batch, the number of its leaves, and the root in hexadecimal.',
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

const exchanged = 'The bytes exactly as exchanged with the TSA.';

/** The files for other verifiers (RFC 3161 §3.4; a bare token is CMS, RFC 5652; an evidence record has no media type of its own). */
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
    answer: 'The token as an evidence record. It can be renewed, so it outlives its certificates.',
    type: 'application/octet-stream',
    extension: 'ers',
  },
} as const satisfies Readonly<Record<ExchangePart, object>>;

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
