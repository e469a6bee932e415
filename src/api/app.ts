import { randomUUID } from 'node:crypto';
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify';
import type { Config } from '../shared/runtime/config.ts';
import type { Logger } from '../shared/runtime/log.ts';
import type { Metrics } from '../shared/runtime/metrics.ts';
import { operatorOf } from '../shared/views/operator.ts';
import { registerDocs } from './docs/index.ts';
import { registerEvidence } from './evidence/index.ts';
import { registerMcp } from './mcp/index.ts';
import { smallBodyBytes } from './server/body-reader.ts';
import { createHopTrust } from './server/client-address.ts';
import { createContext } from './server/context.ts';
import { registerCors } from './server/cors.ts';
import { registerErrorHandler } from './server/errors.ts';
import { registerJsonBody } from './server/json-body.ts';
import { createForeignOrigins, registerForeignBodies } from './server/origin.ts';
import { boundPipelines } from './server/pipelines.ts';
import type { CountingLimits } from './server/rate-limits.ts';
import { registerRequestLog, registerRequestMetrics } from './server/request-log.ts';
import { registerHostRule, registerSecurityHeaders } from './server/security-headers.ts';
import { createEdgeServerOptions } from './server/server-options.ts';
import { registerPathRule } from './server/validation.ts';
import { registerViews } from './server/views.ts';
import type { Services } from './services.ts';
import { registerStamps } from './stamps/index.ts';
import { registerStatus } from './status/index.ts';
import { registerTsaDoor } from './tsa-door/index.ts';
import { registerVerification } from './verification/index.ts';
import { registerWorkflows } from './workflows/index.ts';

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

/** Registers the routes of each capability of the service. Each capability has its own folder. */
const capabilities = [
  registerStatus,
  registerStamps,
  registerVerification,
  registerWorkflows,
  registerEvidence,
  registerTsaDoor,
  registerMcp,
];

/**
 * Builds the application with its plugins and routes, but does not listen. The order matters: a hook applies only to routes that are registered after
 * it.
 */
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
  const context = { ...createContext(app, { config, limits }), ...services };
  registerJsonBody(app, context.reader);
  await registerViews(app, { operator: operatorOf(config) });
  registerDocs(app, context);
  for (const register of capabilities) register(app, context);
  return app;
}
