/** Evidence: files that let others check a stamp or a workflow without this service. */
import type { FastifyInstance } from 'fastify';
import type { ServerContext } from '../http/context.ts';
import type { WorkflowTools } from '../workflows/index.ts';
import { registerBundleRoutes } from './bundle-routes.ts';
import { registerContainerRoute } from './container-route.ts';
import { registerCoseRoutes } from './cose-routes.ts';
import { registerExchangeRoutes } from './exchange-routes.ts';
import { registerPublishedRoutes } from './published-routes.ts';
import { registerRenewalRoutes } from './renewal-routes.ts';
import { registerTrustedListRoute } from './trusted-list-route.ts';

export function registerEvidence(app: FastifyInstance, context: ServerContext, tools: WorkflowTools): void {
  registerExchangeRoutes(app, context, tools);
  registerContainerRoute(app, context, tools);
  registerRenewalRoutes(app, context, tools);
  registerPublishedRoutes(app, context, tools);
  registerBundleRoutes(app, context, tools);
  registerCoseRoutes(app, context, tools);
  registerTrustedListRoute(app, context, tools);
}
