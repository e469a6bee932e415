import { randomUUID } from 'node:crypto';
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify';
import type { Config } from '../shared/runtime/config.ts';
import type { Logger } from '../shared/runtime/log.ts';
import type { Metrics } from '../shared/runtime/metrics.ts';
import { version } from '../shared/runtime/version.ts';
import { createByteBudget } from './http/byte-budget.ts';
import { registerErrorHandler } from './http/errors.ts';
import { registerJsonBody } from './http/json-body.ts';
import type { RateLimits } from './http/rate-limits.ts';
import { registerRequestLog } from './http/request-log.ts';
import { registerRequestMetrics } from './http/request-metrics.ts';
import { registerSecurityHeaders } from './http/security-headers.ts';
import { edgeServerOptions } from './http/server-options.ts';
import { createServiceTokens } from './http/service-token.ts';
import { registerMcp } from './mcp/endpoint.ts';
import { registerOpenApi } from './openapi/register.ts';
import { registerViews } from './pages/views.ts';
import { registerAgentRoutes } from './routes/agent.ts';
import { registerHealthRoutes } from './routes/health.ts';
import { registerInternalRoutes } from './routes/internal.ts';
import { registerPageRoutes } from './routes/pages.ts';
import { registerPricingRoutes } from './routes/pricing.ts';
import { registerSealedRoutes } from './routes/sealed.ts';
import { registerStartRoute } from './routes/start.ts';
import { registerStatusRoutes } from './routes/status.ts';
import { registerVerifyRoutes } from './routes/verify.ts';
import { registerVerifyUserRoutes } from './routes/verify-user.ts';
import { registerWorkflowRoutes } from './routes/workflow.ts';
import type { HealthService } from './services/health.ts';
import { pricingOf } from './services/pricing.ts';
import type { DownloadSealed } from './services/sealed-download.ts';
import type { Stamping } from './services/stamping.ts';
import type { Statistics } from './services/statistics.ts';
import type { StatusService } from './services/status.ts';
import type { Verification } from './services/verification.ts';
import type { Workflows } from './services/workflows/workflows.ts';

export interface AppDeps {
  readonly config: Config;
  readonly log: Logger;
  readonly limits: RateLimits;
  readonly metrics: Pick<Metrics, 'answered'>;
  readonly stamping: Stamping;
  readonly verification: Verification;
  readonly statistics: Statistics;
  readonly downloadSealed: DownloadSealed;
  readonly health: HealthService;
  readonly status: StatusService;
  readonly workflows: Workflows;
}

/** What large bodies may take of the memory of one process, on the way in and out: who reads slowly keeps nobody from sending. */
const receivedBytes = 128 * 1024 * 1024;
const sentBytes = 64 * 1024 * 1024;

const requestIdPattern = /^[\w.-]{1,64}$/;

/** The application apart from the listening server: plugins and routes in an explicit order. */
export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const { config, log, limits } = deps;
  const loggerInstance: FastifyBaseLogger = log;
  const app = fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    trustProxy: config.TRUST_PROXY,
    requestIdHeader: false,
    genReqId: ({ headers }) => {
      const given = headers['x-request-id'];
      return typeof given === 'string' && requestIdPattern.test(given) ? given : randomUUID();
    },
    bodyLimit: 1024 * 1024,
    ...edgeServerOptions,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
  });

  registerRequestLog(app);
  if (config.METRICS_PORT !== undefined) registerRequestMetrics(app, deps.metrics);
  registerErrorHandler(app);
  await registerSecurityHeaders(app);
  registerJsonBody(app, { budget: createByteBudget({ maxBytes: receivedBytes }) });
  await registerViews(app);
  registerOpenApi(app);

  const identifyProduct = createServiceTokens(config.SERVICE_TOKENS);
  registerHealthRoutes(app, deps);
  registerInternalRoutes(app, { ...deps, identifyProduct, sealedMaxBytes: config.SEALED_MAX_BYTES });
  registerAgentRoutes(app, { ...deps, limits, perMinute: config.RATE_AGENT_PER_MINUTE, sealedMaxBytes: config.SEALED_MAX_BYTES });
  registerVerifyRoutes(app, { ...deps, limits, perMinute: config.RATE_VERIFY_PER_MINUTE });
  registerSealedRoutes(app, {
    ...deps,
    budget: createByteBudget({ maxBytes: sentBytes }),
    limits,
    perMinute: config.RATE_VERIFY_PER_MINUTE,
  });
  registerWorkflowRoutes(app, {
    ...deps,
    startsPerHour: config.RATE_WORKFLOW_START_PER_HOUR,
    stampsPerMinute: config.RATE_WORKFLOW_STAMP_PER_MINUTE,
  });
  registerVerifyUserRoutes(app, deps);
  registerPageRoutes(app, deps);
  registerMcp(app, { ...deps, identifyProduct, sealedMaxBytes: config.SEALED_MAX_BYTES });
  registerStatusRoutes(app, { ...deps, limits, perMinute: config.RATE_STATUS_PER_MINUTE });
  registerPricingRoutes(app, { pricing: pricingOf({ version, sealedMaxBytes: config.SEALED_MAX_BYTES }) });
  registerStartRoute(app, { ...deps, publicBaseUrl: config.PUBLIC_BASE_URL });
  return app;
}
