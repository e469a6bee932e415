import type { FastifyInstance } from 'fastify';
import { version } from '../../shared/contract/version.ts';
import type { ApiContext } from '../server/context.ts';
import { type OperationContract, page } from '../server/operation.ts';

const contract: OperationContract = {
  tag: 'Documents',
  id: 'showStartPage',
  summary: 'The start page',
  answers: { 200: page('What this is and where to go.') },
};

/** The page that tells a person what this is and where to go. */
export function registerStartRoute(app: FastifyInstance, { status, baseUrl }: ApiContext): void {
  app.get('/', { config: { contract } }, async (_request, reply) => {
    const { provider } = (await status.read()).status;
    return reply.page('start', { version, baseUrl: baseUrl(), provider });
  });
}
