import type { FastifyInstance } from 'fastify';
import { version } from '../../shared/version.ts';
import type { StatusService } from '../services/status.ts';

/** The page that tells a person what this is and where to go. */
export function registerStartRoute(app: FastifyInstance, deps: { status: StatusService; publicBaseUrl: string | undefined }): void {
  app.get('/', async (request, reply) => {
    const { provider } = (await deps.status.read()).response;
    return reply.page('start', {
      version,
      baseUrl: deps.publicBaseUrl ?? `${request.protocol}://${request.host}`,
      provider: { name: provider.name, isQualified: provider.is_qualified },
    });
  });
}
