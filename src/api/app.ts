import { randomUUID } from 'node:crypto';
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify';
import { operatorOf } from '../shared/views/operator.ts';
import { registerDocs } from './docs/index.ts';
import { createEvidence, registerEvidence } from './evidence/index.ts';
import { registerMcp } from './mcp/index.ts';
import { smallBodyBytes } from './server/body-reader.ts';
import { createHopTrust } from './server/client-address.ts';
import { createContext } from './server/context.ts';
import { registerCors } from './server/cors.ts';
import { registerErrorHandler } from './server/errors.ts';
import { registerJsonBody } from './server/json-body.ts';
import { createForeignOrigins, registerForeignBodies } from './server/origin.ts';
import { boundPipelines } from './server/pipelines.ts';
import { registerRequestLog, registerRequestMetrics } from './server/request-log.ts';
import { registerHostRule, registerSecurityHeaders } from './server/security-headers.ts';
import { createEdgeServerOptions } from './server/server-options.ts';
import { registerPathRule } from './server/validation.ts';
import { registerViews } from './server/views.ts';
import { createStamps, registerStamps } from './stamps/index.ts';
import { createMailCheck, createStatusServices, registerStatus } from './status/index.ts';
import type { ApiTools } from './tools.ts';
import { createTsaDoor, registerTsaDoor } from './tsa-door/index.ts';
import { createVerificationServices, registerVerification } from './verification/index.ts';
import { createWorkflowServices, registerWorkflows } from './workflows/index.ts';

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

/** Creates the functions that routes and tools call. Each capability creates its own. */
function createServices(tools: ApiTools) {
  const verification = createVerificationServices(tools);
  const stamps = createStamps(tools, verification);
  const { workflows } = createWorkflowServices(tools, {
    ...stamps,
    ...verification,
    canSendMail: createMailCheck(tools.readHeartbeats, tools.clock),
  });
  return {
    ...verification,
    ...stamps,
    workflows,
    ...createEvidence(tools, { ...verification, workflows }),
    tsaDoor: createTsaDoor(tools, stamps),
    ...createStatusServices(tools),
  };
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
export async function buildApp(tools: ApiTools): Promise<FastifyInstance> {
  const { config, log, limits, metrics } = tools;
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
  const context = { ...createContext(app, { config, limits }), ...createServices(tools) };
  registerJsonBody(app, context.reader);
  await registerViews(app, { operator: operatorOf(config) });
  registerDocs(app);
  for (const register of capabilities) register(app, context);
  return app;
}
