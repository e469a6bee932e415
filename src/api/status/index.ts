/** The state of the service: health for orchestrators, the status page, statistics, the price list and the start page. */
import type { FastifyInstance } from 'fastify';
import type { ServerContext } from '../http/context.ts';
import type { ApiTools } from '../tools.ts';
import { createHealthService } from './health.ts';
import { createStatusService } from './status.ts';
import { registerHealthRoutes, registerPricingRoute, registerStartRoute, registerStatusRoutes } from './status-routes.ts';

export function registerStatus(app: FastifyInstance, context: ServerContext, tools: ApiTools): void {
  const status = createStatusService(tools);
  registerHealthRoutes(app, createHealthService(tools));
  registerStatusRoutes(app, context, tools, status);
  registerPricingRoute(app, context);
  registerStartRoute(app, context, status);
}

export { canSendMail } from './service-state.ts';
