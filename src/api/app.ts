import { randomUUID } from 'node:crypto';
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify';
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
import { registerRequestLog, registerRequestMetrics } from './server/request-log.ts';
import { registerHostRule, registerSecurityHeaders } from './server/security-headers.ts';
import { createEdgeServerOptions } from './server/server-options.ts';
import { registerPathRule } from './server/validation.ts';
import { registerViews } from './server/views.ts';
import { openStampTools, registerStamps } from './stamps/index.ts';
import { canSendMail, registerStatus } from './status/index.ts';
import type { ApiTools } from './tools.ts';
import { registerTsaDoor } from './tsa-door/index.ts';
import { openStampJudge, registerVerification } from './verification/index.ts';
import { createWorkflowTools, registerWorkflows } from './workflows/index.ts';

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

/**
 * Builds the application with its plugins and routes, but does not listen. The order matters: a hook applies only to routes that are registered after
 * it.
 */
export async function buildApp(tools: ApiTools): Promise<FastifyInstance> {
  const { config, log, metrics } = tools;
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
  const context = createContext(app, tools);
  registerJsonBody(app, context.reader);
  await registerViews(app, { operator: operatorOf(config) });
  registerDocs(app, context);

  const stampJudge = openStampJudge(tools);
  const stampTools = openStampTools(tools, stampJudge);
  const workflowTools = createWorkflowTools(stampTools, stampJudge, () => canSendMail(tools));
  registerStatus(app, context, tools);
  registerStamps(app, context, stampTools);
  registerVerification(app, context, { ...tools, stampJudge });
  registerWorkflows(app, context, workflowTools);
  registerEvidence(app, context, workflowTools);
  registerTsaDoor(app, context, stampTools);
  registerMcp(app, context, workflowTools);
  return app;
}
