import type { FastifyInstance } from 'fastify';
import type { ProviderStatus } from '../../shared/contract/status.ts';
import { version } from '../../shared/contract/version.ts';
import type { ServerContext } from '../server/context.ts';
import { type OperationContract, page } from '../server/operation.ts';
import type { StatusService } from './status.ts';

declare module '../server/views.ts' {
  interface PageModels {
    readonly start: StartPage;
  }
}

interface StartPage {
  readonly version: string;
  /** The base URL of the service, for the example: `PUBLIC_BASE_URL`, or the origin on which it listens. */
  readonly baseUrl: string;
  readonly provider: Pick<ProviderStatus, 'name' | 'qualification' | 'qualified' | 'last_success_at'>;
}

const contract: OperationContract = {
  tag: 'Documents',
  id: 'showStartPage',
  summary: 'The start page',
  answers: { 200: page('Explains the service and links to its pages.') },
};

/** Serves the page that explains the service to a person. */
export function registerStartRoute(app: FastifyInstance, { baseUrl }: ServerContext, status: StatusService): void {
  app.get('/', { config: { contract } }, async (_request, reply) => {
    const { provider } = (await status.read()).status;
    return reply.page('start', { version, baseUrl: baseUrl(), provider });
  });
}
