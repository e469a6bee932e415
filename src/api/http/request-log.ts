import type { FastifyInstance } from 'fastify';
import { createSampledLog } from './sampled-log.ts';

/**
 * Logs one line for each answered request, and of refusals only some where there are many. It names the route and never the address,
 * because some addresses are secrets (S11, W6).
 */
export function registerRequestLog(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  const sampled = createSampledLog();
  app.addHook('onResponse', (request, reply, done) => {
    const write = (left: object) =>
      request.log.info(
        {
          method: request.method,
          route: request.routeOptions.url ?? 'none',
          status: reply.statusCode,
          durationMs: Math.round(reply.elapsedTime * 10) / 10,
          ...left,
        },
        'answered',
      );
    if (reply.statusCode < 400) write({});
    else sampled(reply.statusCode, write);
    done();
  });
}
