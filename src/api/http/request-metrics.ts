import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../shared/runtime/metrics.ts';

/** Measures every answer by its route, not its address: addresses are too many, and some are secrets (S11, W6). */
export function registerRequestMetrics(app: FastifyInstance, metrics: Pick<Metrics, 'answered'>): void {
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none';
    metrics.answered({ method: request.method, route, status: reply.statusCode, seconds: reply.elapsedTime / 1_000 });
    done();
  });
}
