import { randomUUID } from 'node:crypto';
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify';
import { addressesUnder } from '../shared/domain/addresses.ts';
import { operatorOf } from '../shared/views/operator.ts';
import { registerDocs } from './docs/index.ts';
import { registerEvidence } from './evidence/index.ts';
import { smallBodyBytes } from './http/body-reader.ts';
import { boundPipelines, createEdgeServerOptions } from './http/connections.ts';
import { createContext } from './http/context.ts';
import { registerErrorHandler } from './http/errors.ts';
import { createForeignOrigins, registerCors, registerForeignBodies, registerHostRule, registerSecurityHeaders } from './http/headers.ts';
import { registerJsonBody } from './http/json-body.ts';
import { createHopTrust } from './http/rate-limits.ts';
import { registerRequestLog, registerRequestMetrics } from './http/request-log.ts';
import { registerPathRule } from './http/validation.ts';
import { registerViews } from './http/views.ts';
import { registerMcp } from './mcp/index.ts';
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
  await registerViews(app, { operator: operatorOf(config), addressOf: addressesUnder(config.PUBLIC_BASE_URL) });
  registerDocs(app, context);

  const stampTools = openStampTools(tools, openStampJudge(tools));
  const workflowTools = createWorkflowTools(stampTools, () => canSendMail(tools));
  registerStatus(app, context, tools);
  registerStamps(app, context, stampTools);
  registerVerification(app, context, stampTools);
  registerWorkflows(app, context, workflowTools);
  registerEvidence(app, context, workflowTools);
  registerTsaDoor(app, context, stampTools);
  registerMcp(app, context, workflowTools);
  return app;
}
