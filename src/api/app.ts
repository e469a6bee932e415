import { randomUUID } from 'node:crypto';
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify';
import type { Config } from '../shared/runtime/config.ts';
import type { Logger } from '../shared/runtime/log.ts';
import type { Metrics } from '../shared/runtime/metrics.ts';
import { operatorOf } from '../shared/views/operator.ts';
import { createContext } from './context.ts';
import { smallBodyBytes } from './http/body-reader.ts';
import { createHopTrust } from './http/client-address.ts';
import { registerCors } from './http/cors.ts';
import { registerErrorHandler } from './http/errors.ts';
import { registerJsonBody } from './http/json-body.ts';
import { createForeignOrigins, registerForeignBodies } from './http/origin.ts';
import { boundPipelines } from './http/pipelines.ts';
import type { CountingLimits } from './http/rate-limits.ts';
import { registerRequestLog, registerRequestMetrics } from './http/request-log.ts';
import { registerHostRule, registerSecurityHeaders } from './http/security-headers.ts';
import { createEdgeServerOptions } from './http/server-options.ts';
import { registerPathRule } from './http/validation.ts';
import { registerMcp } from './mcp/endpoint.ts';
import { registerOpenApi } from './openapi/register.ts';
import { registerViews } from './pages/views.ts';
import { registerAgentRoutes } from './routes/agent.ts';
import { registerCoseRoutes } from './routes/cose.ts';
import { registerEvidenceRenewalRoutes } from './routes/evidence-renewal.ts';
import { registerHealthRoutes } from './routes/health.ts';
import { registerInternalRoutes } from './routes/internal.ts';
import { registerPageRoutes } from './routes/pages.ts';
import { registerPricingRoutes } from './routes/pricing.ts';
import { registerSealedRoutes } from './routes/sealed.ts';
import { registerStampBatchRoutes } from './routes/stamp-batches.ts';
import { registerStartRoute } from './routes/start.ts';
import { registerStatusRoutes } from './routes/status.ts';
import { registerTsaRoutes } from './routes/tsa.ts';
import { registerVerifyRoutes } from './routes/verify.ts';
import { registerVerifyForm } from './routes/verify-form.ts';
import { registerVerifyUserRoutes } from './routes/verify-user.ts';
import { registerWorkflowRoutes } from './routes/workflow.ts';
import { registerWorkflowEvidenceRoutes } from './routes/workflow-evidence.ts';
import { registerPublishedWorkflowRoutes } from './routes/workflow-published.ts';
import type { Services } from './services/services.ts';

export interface AppDeps {
  readonly config: Config;
  readonly log: Logger;
  readonly services: Services;
  readonly limits: CountingLimits;
  readonly metrics: Pick<Metrics, 'answered' | 'faulted'>;
}

const requestIdPattern = /^[\w.-]{1,64}$/;

function createServer(log: FastifyBaseLogger, trustProxy: string[]): FastifyInstance {
  return fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    trustProxy: createHopTrust(trustProxy),
    requestIdHeader: false,
    genReqId: ({ headers }) => {
      const given = headers['x-request-id'];
      return typeof given === 'string' && requestIdPattern.test(given) ? given : randomUUID();
    },
    bodyLimit: smallBodyBytes,
    ...createEdgeServerOptions(),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
  });
}

const routes = [
  registerHealthRoutes,
  registerInternalRoutes,
  registerAgentRoutes,
  registerStampBatchRoutes,
  registerVerifyRoutes,
  registerVerifyForm,
  registerSealedRoutes,
  registerEvidenceRenewalRoutes,
  registerWorkflowRoutes,
  registerPublishedWorkflowRoutes,
  registerWorkflowEvidenceRoutes,
  registerCoseRoutes,
  registerVerifyUserRoutes,
  registerPageRoutes,
  registerMcp,
  registerTsaRoutes,
  registerStatusRoutes,
  registerPricingRoutes,
  registerStartRoute,
];

/** Puts plugins and routes together, in an order that matters: hooks count only for routes registered after them. Does not listen. */
export async function buildApp({ config, log, services, limits, metrics }: AppDeps): Promise<FastifyInstance> {
  const app = createServer(log, config.TRUST_PROXY);
  boundPipelines(app.server);

  registerRequestLog(app);
  if (config.METRICS_PORT !== undefined) registerRequestMetrics(app, metrics);
  registerErrorHandler(app);
  registerSecurityHeaders(app);
  await registerCors(app, { cors: config.CORS_ORIGINS, mcp: config.MCP_ORIGINS });
  registerHostRule(app);
  registerForeignBodies(app, createForeignOrigins(app, config.PUBLIC_BASE_URL));
  registerPathRule(app);
  const context = createContext(app, { config, services, limits });
  registerJsonBody(app, context.reader);
  await registerViews(app, { operator: operatorOf(config) });
  registerOpenApi(app);
  for (const register of routes) register(app, context);
  return app;
}
