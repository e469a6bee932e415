import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../shared/runtime/metrics.ts';
import { faultsOf, worstOf } from './outcome.ts';

/** Measures every answer by its route, not its address: addresses are too many, and some are secrets (S11, W6). Counts each fault. */
export function registerRequestMetrics(app: FastifyInstance, metrics: Pick<Metrics, 'answered' | 'faulted'>): void {
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none';
    const faults = faultsOf(request, reply.statusCode);
    const outcome = worstOf(faults)?.outcome ?? 'done';
    metrics.answered({ method: request.method, route, status: reply.statusCode, outcome, seconds: reply.elapsedTime / 1_000 });
    for (const fault of faults) metrics.faulted(fault);
    done();
  });
}
