import type { FastifyInstance } from 'fastify';
import { tokenIdPath } from '../../shared/contract/verify.ts';
import type { ServerContext } from '../http/context.ts';
import { bytes, type OperationContract } from '../http/operation.ts';
import { createRequestParser } from '../http/validation.ts';
import type { WorkflowTools } from '../workflows/index.ts';
import { coseHeadersOf, readPublicKey } from './cose/headers.ts';

const tag = 'Verification';

const headersContract = {
  tag,
  id: 'downloadCoseHeaders',
  summary: 'The stamp as headers of a COSE message (RFC 9921, RFC 9942)',
  description:
    'A CBOR array: the protected header, with the time-stamp token (`3161-ttc`, 269), and the unprotected header, with a COSE receipt (394) if the stamp is an ' +
    'output of a completed workflow. Put them into your own COSE message over the stamped content; the service signs only the COSE receipt.',
  path: tokenIdPath,
  answers: { 200: bytes('`[protected, unprotected]` as in RFC 9052 §3.', 'application/cbor') },
  errors: ['not_found', 'rate_limited', 'overloaded', 'store_unavailable'],
} satisfies OperationContract;

const keyContract = {
  tag,
  id: 'downloadReceiptKey',
  summary: 'The public key for the signatures of COSE receipts',
  description: 'Ed25519, PEM. A COSE receipt proves that this service keeps the tree. The stamp of the root proves when the root existed.',
  answers: { 200: bytes('The public key.', 'application/x-pem-file') },
  errors: ['rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const parse = createRequestParser(headersContract);

/** Serves stamps as headers of COSE messages (W23). */
export function registerCoseRoutes(
  app: FastifyInstance,
  { mistakes, limitVerifying: onRequest }: ServerContext,
  tools: WorkflowTools,
): void {
  app.get('/api/v1/verify/v1/token/:token_id/cose', { onRequest, config: { contract: headersContract } }, async (request, reply) => {
    const { token_id } = parse(request).path;
    const headers = await mistakes.count(request, reply, () => coseHeadersOf(tools, token_id));
    reply.header('Content-Disposition', `attachment; filename="${token_id}.cbor"`);
    return reply.type('application/cbor').send(headers);
  });
  app.get('/api/v1/verify/v1/receipt-key', { onRequest, config: { contract: keyContract } }, async (_request, reply) =>
    reply.type('application/x-pem-file').send(await readPublicKey(tools.store)),
  );
}
