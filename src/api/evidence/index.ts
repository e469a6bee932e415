/** Evidence: files that let others check a stamp or a workflow without this service. */
import type { FastifyInstance } from 'fastify';
import type { ServerContext } from '../http/context.ts';
import type { WorkflowTools } from '../workflows/index.ts';
import { registerContainerRoute, registerExchangeRoutes, registerRenewalRoutes } from './exchange-routes.ts';
import { registerBundleRoutes, registerCoseRoutes, registerPublishedRoutes, registerTrustedListRoute } from './published-routes.ts';

export function registerEvidence(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  registerExchangeRoutes(app, context, tools);
  registerContainerRoute(app, context, tools);
  registerRenewalRoutes(app, context, tools);
  registerPublishedRoutes(app, context, tools);
  registerBundleRoutes(app, context, tools);
  registerCoseRoutes(app, context, tools);
  registerTrustedListRoute(app, context, tools);
}
