import { randomUUID } from 'node:crypto';
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify';
import type { Config } from '../shared/runtime/config.ts';
import type { Logger } from '../shared/runtime/log.ts';
import type { Metrics } from '../shared/runtime/metrics.ts';
import { operatorOf } from '../shared/views/operator.ts';
import { batchBodyLimit } from './http/batch-body.ts';
import { createBodyBudget } from './http/body-budget.ts';
import { createBodyReader, smallBodyBytes } from './http/body-reader.ts';
import { createCallbackRule } from './http/callback-url.ts';
import { createHopTrust } from './http/client-address.ts';
import { registerCors } from './http/cors.ts';
import { registerErrorHandler } from './http/errors.ts';
import { registerJsonBody } from './http/json-body.ts';
import { createLargeAnswers } from './http/large-answers.ts';
import { createMistakes } from './http/mistakes.ts';
import { baseUrlOf, createForeignOrigins, registerForeignBodies } from './http/origin.ts';
import { boundPipelines } from './http/pipelines.ts';
import { addressKey, type CountingLimits } from './http/rate-limits.ts';
import { registerRequestLog, registerRequestMetrics } from './http/request-log.ts';
import { registerHostRule, registerSecurityHeaders } from './http/security-headers.ts';
import { createEdgeServerOptions } from './http/server-options.ts';
import { createProductRule, createServicePasswords, createServiceTokens } from './http/service-token.ts';
import { registerPathRule } from './http/validation.ts';
import { createCallGuards } from './mcp/call-guards.ts';
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
import { stampBodyLimit } from './routes/stamping.ts';
import { registerStartRoute } from './routes/start.ts';
import { registerStatusRoutes } from './routes/status.ts';
import { registerTsaRoutes } from './routes/tsa.ts';
import { registerVerifyRoutes, tokenBodyLimit } from './routes/verify.ts';
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

/** Puts plugins and routes together, in an order that matters: hooks count only for routes registered after them. Does not listen. */
export async function buildApp({ config, log, services, limits, metrics }: AppDeps): Promise<FastifyInstance> {
  const {
    untilKnown,
    stamping,
    stampBatch,
    acceptBatch,
    tsaDoor,
    verification,
    stampPages,
    statistics,
    sealedDownload,
    evidenceRenewals,
    workflows,
    cose,
    health,
    status,
    pricing,
  } = services;
  const sealedMaxBytes = config.SEALED_MAX_BYTES;
  const identifyProduct = createServiceTokens(config.SERVICE_TOKENS);
  const identifyAtDoor = config.TSA_DOOR === 'token' ? createServicePasswords(config.SERVICE_TOKENS) : undefined;
  const mistakes = createMistakes({
    limits,
    wrongTokensPerMinute: config.RATE_WRONG_TOKEN_PER_MINUTE,
    unknownIdsPerMinute: config.RATE_UNKNOWN_ID_PER_MINUTE,
  });
  const requireProduct = createProductRule(identifyProduct, mistakes);
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
  const reader = createBodyReader(app, {
    budget: createBodyBudget(Math.max(stampBodyLimit(sealedMaxBytes), tokenBodyLimit, batchBodyLimit)),
    senderOf: (request) => ({ hasToken: identifyProduct(request) !== undefined, address: addressKey(request) }),
  });
  registerJsonBody(app, reader);
  await registerViews(app, { operator: operatorOf(config) });
  registerOpenApi(app);

  registerHealthRoutes(app, { health });
  const judgeCallback = createCallbackRule(config);
  registerInternalRoutes(app, { judgeCallback, requireProduct, stamping, verification, statistics, sealedMaxBytes });
  const agentLimit = limits.by({ name: 'agent', points: config.RATE_AGENT_PER_MINUTE, durationSeconds: 60, key: addressKey });
  const limitedBytes = limits.by({
    name: 'sealed-bytes',
    points: config.RATE_SEALED_BYTES_PER_HOUR,
    durationSeconds: 3_600,
    unit: 'bytes of sealed content',
    key: addressKey,
  });
  registerAgentRoutes(app, { stamping, limited: agentLimit, limitedBytes, sealedMaxBytes });
  const largeAnswers = createLargeAnswers();
  const batches = { reader, largeAnswers };
  registerStampBatchRoutes(app, { ...batches, stampBatch, acceptBatch, judgeCallback, requireProduct, agentLimit });
  registerVerifyRoutes(app, {
    untilKnown,
    verification,
    stampPages,
    limits,
    mistakes,
    perMinute: config.RATE_VERIFY_PER_MINUTE,
    publicBaseUrl: config.PUBLIC_BASE_URL,
  });
  registerVerifyForm(app, { stampPages, reader, limits, perMinute: config.RATE_VERIFY_PER_MINUTE });
  const ofContent = { sealedDownload, largeAnswers, limits, mistakes, perMinute: config.RATE_VERIFY_PER_MINUTE };
  registerSealedRoutes(app, ofContent);
  registerEvidenceRenewalRoutes(app, { ...ofContent, evidenceRenewals, identifyProduct, reader, sealedMaxBytes });
  registerWorkflowRoutes(app, {
    identifyProduct,
    judgeCallback,
    workflows,
    limits,
    mistakes,
    publicBaseUrl: config.PUBLIC_BASE_URL,
    startsPerHour: config.RATE_WORKFLOW_START_PER_HOUR,
    stampsPerMinute: config.RATE_WORKFLOW_STAMP_PER_MINUTE,
    ...batches,
  });
  registerPublishedWorkflowRoutes(app, { workflows, limits, mistakes, perMinute: config.RATE_VERIFY_PER_MINUTE });
  registerWorkflowEvidenceRoutes(app, { workflows, largeAnswers, limits, mistakes, perMinute: config.RATE_VERIFY_PER_MINUTE });
  registerCoseRoutes(app, { cose, limits, mistakes, perMinute: config.RATE_VERIFY_PER_MINUTE });
  registerVerifyUserRoutes(app, { workflows, mistakes });
  registerPageRoutes(app, {
    workflows,
    limits,
    mistakes,
    perMinute: config.RATE_WORKFLOW_PAGE_PER_MINUTE,
    publicBaseUrl: config.PUBLIC_BASE_URL,
  });
  const isForeign = createForeignOrigins(app, config.PUBLIC_BASE_URL, [...config.MCP_ORIGINS, ...config.CORS_ORIGINS]);
  const story = {
    stampBatch,
    verification,
    workflows,
    baseUrl: () => baseUrlOf(app, config.PUBLIC_BASE_URL),
    guardsOf: createCallGuards({ limits, mistakes, agentLimit, config }),
  };
  registerMcp(app, { identifyProduct, requireProduct, mistakes, isForeign, stamping, verification, sealedMaxBytes, story });
  if (config.TSA_DOOR !== 'off') {
    registerTsaRoutes(app, {
      door: tsaDoor,
      reader,
      identify: identifyAtDoor,
      limits,
      mistakes,
      perMinute: config.RATE_TSA_PER_MINUTE,
      publicBaseUrl: config.PUBLIC_BASE_URL,
    });
  }
  registerStatusRoutes(app, { status, limits, perMinute: config.RATE_STATUS_PER_MINUTE });
  registerPricingRoutes(app, { pricing });
  registerStartRoute(app, { status, publicBaseUrl: config.PUBLIC_BASE_URL });
  return app;
}
