import type { FastifyInstance } from 'fastify';
import { statusResponse } from '../../shared/contract/status.ts';
import type { ApiContext } from '../server/context.ts';
import { json, type OperationContract, page } from '../server/operation.ts';

/** Together with the age of the figures themselves they are never older than 5 s. */
const cacheControl = 'public, max-age=2';

const tag = 'Health and status';
const jsonContract: OperationContract = {
  tag,
  id: 'readStatus',
  summary: 'The state of the service and its counters',
  description: 'Figures that are at most 5 s old; nothing of a caller, an id, a host or a path.',
  answers: { 200: json('The state, also where it is an outage.', statusResponse, { 'Cache-Control': '`public, max-age=2`' }) },
};
const pageContract: OperationContract = {
  tag,
  id: 'showStatusPage',
  summary: 'The same as a page',
  answers: { 200: page('The status page.') },
  errors: ['rate_limited'],
};

/** The state of the service for programs, and as a page for people (limited by R1). */
export function registerStatusRoutes(app: FastifyInstance, { status, limitStatus: onRequest }: ApiContext): void {
  app.get('/api/v1/status', { config: { contract: jsonContract } }, async (_request, reply) => {
    reply.header('Cache-Control', cacheControl);
    return (await status.read()).status;
  });
  app.get('/status', { onRequest, config: { contract: pageContract } }, async (_request, reply) => {
    return reply.header('Cache-Control', cacheControl).page('status', await status.read());
  });
}
