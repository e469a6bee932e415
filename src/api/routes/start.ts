import type { FastifyInstance } from 'fastify';
import { version } from '../../shared/contract/version.ts';
import { baseUrlOf } from '../http/origin.ts';
import { type OperationContract, page } from '../openapi/operation.ts';
import type { StatusService } from '../services/status.ts';

const contract: OperationContract = {
  tag: 'Documents',
  id: 'showStartPage',
  summary: 'The start page',
  answers: { 200: page('What this is and where to go.') },
};

/** The page that tells a person what this is and where to go. */
export function registerStartRoute(app: FastifyInstance, deps: { status: StatusService; publicBaseUrl: string | undefined }): void {
  app.get('/', { config: { contract } }, async (_request, reply) => {
    const { provider } = (await deps.status.read()).status;
    return reply.page('start', { version, baseUrl: baseUrlOf(app, deps.publicBaseUrl), provider });
  });
}
