import type { FastifyInstance } from 'fastify';
import { trustedListPath, trustedListType } from '../../shared/contract/verify.ts';
import type { ServerContext } from '../http/context.ts';
import { bytes, type OperationContract } from '../http/operation.ts';
import { createRequestParser } from '../http/validation.ts';
import type { ApiTools } from '../tools.ts';
import { findListFile } from './trusted-list.ts';

const contract = {
  tag: 'Verification',
  id: 'downloadTrustedList',
  summary: 'A trusted list that this service has verified (ETSI TS 119 612)',
  description: 'The file as its country signed it. `/api/v1/status` names the lists in force; older ones stay here.',
  path: trustedListPath,
  answers: { 200: bytes('The list.', trustedListType) },
  errors: ['not_found', 'rate_limited', 'store_unavailable'],
} satisfies OperationContract;

const parse = createRequestParser(contract);

/** Serves trusted lists by their SHA-256. Only verified lists are stored; still, browsers must save them and not show them as a page of ours. */
export function registerTrustedListRoute(app: FastifyInstance, { limitVerifying: onRequest }: ServerContext, { store }: ApiTools): void {
  app.get('/trusted-lists/:sha256', { onRequest, config: { contract } }, async (request, reply) => {
    const { name, xml } = await findListFile(store, parse(request).path.sha256);
    reply.header('Content-Disposition', `attachment; filename="${name}"`);
    return reply.header('Cache-Control', 'public, max-age=31536000, immutable').type(trustedListType).send(xml);
  });
}
