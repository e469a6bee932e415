import { type FastifyInstance, type FastifyServerOptions, fastify } from 'fastify';
import { registerErrorHandler } from '../../src/api/http/errors.ts';
import { type JsonBodyOptions, registerJsonBody } from '../../src/api/http/json-body.ts';
import { registerSecurityHeaders } from '../../src/api/http/security-headers.ts';
import { edgeServerOptions } from '../../src/api/http/server-options.ts';
import { createRequestParser } from '../../src/api/http/validation.ts';
import { agentHeaders, stampRequestFor } from '../../src/shared/contract/stamp.ts';
import { dailyQuery, listQuery } from '../../src/shared/contract/stats.ts';
import { rawVerifyRequest, tokenPath, verifyRequest } from '../../src/shared/contract/verify.ts';
import { verifyUserQuery, workflowPath, workflowStampRequest, workflowStartRequest } from '../../src/shared/contract/workflow.ts';
import { stampTiers } from '../../src/shared/domain/tiers.ts';

export const sealedMaxBytes = 4096;

/** The edges of the API alone: its plugins, and the paths of the interface that answer with what they have understood. */
export async function buildEdgesApp(options: { server?: FastifyServerOptions; jsonBody?: JsonBodyOptions } = {}): Promise<FastifyInstance> {
  const app = fastify({ ...edgeServerOptions, ...options.server });
  registerErrorHandler(app);
  registerSecurityHeaders(app);
  registerJsonBody(app, options.jsonBody);

  const echo = (method: 'GET' | 'POST', url: string, parse: ReturnType<typeof createRequestParser>, status = 200) =>
    app.route({
      method,
      url,
      handler: async (request, reply) => {
        reply.code(status);
        return parse(request);
      },
    });

  echo('POST', '/api/v1/internal/v1/stamp', createRequestParser({ body: stampRequestFor({ sealedMaxBytes }) }), 201);
  for (const tier of stampTiers) {
    const contract = { headers: agentHeaders, body: stampRequestFor({ tier, sealedMaxBytes }) };
    echo('POST', `/api/v1/agent/v1/stamp/${tier}`, createRequestParser(contract), 201);
  }
  echo('POST', '/api/v1/internal/v1/verify', createRequestParser({ body: verifyRequest }));
  echo('POST', '/api/v1/verify/v1/raw', createRequestParser({ body: rawVerifyRequest }));
  echo('GET', '/api/v1/verify/v1/token/:token_id', createRequestParser({ path: tokenPath }));
  echo('GET', '/api/v1/internal/v1/stamps', createRequestParser({ query: listQuery }));
  echo('GET', '/api/v1/internal/stats/daily', createRequestParser({ query: dailyQuery }));
  echo('POST', '/api/v1/workflow/start', createRequestParser({ body: workflowStartRequest }), 201);
  echo('POST', '/api/v1/workflow/:workflow_id/stamp', createRequestParser({ path: workflowPath, body: workflowStampRequest }), 201);
  echo('POST', '/api/v1/workflow/:workflow_id/complete', createRequestParser({ path: workflowPath }));
  app.get('/api/v1/workflow/:workflow_id/verify-user', { exposeHeadRoute: false }, async (request) =>
    createRequestParser({ path: workflowPath, query: verifyUserQuery })(request),
  );
  app.get('/health/', async () => ({ status: 'ok' }));
  return app;
}
