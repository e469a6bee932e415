import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../shared/runtime/metrics.ts';
import { type Fault, faultsOf, worstOf } from './outcome.ts';
import { createSampledLog } from './sampled-log.ts';

/** `info` for normal answers and refusals, `warn` for a failure of a dependency, `error` for our own defect. */
const levelOf = ({ outcome, code }: Fault): 'info' | 'warn' | 'error' =>
  outcome === 'refused' ? 'info' : code === 'internal_error' ? 'error' : 'warn';

/**
 * Logs one line for each answered request. `outcome` says whether it was done, refused or failed, and `code` says why. If many fail for the
 * same reason, only some are logged. The line has the route, never the address, because some addresses are secrets (S11).
 */
export function registerRequestLog(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  const sampled = createSampledLog();
  app.addHook('onResponse', (request, reply, done) => {
    const answered = {
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime * 10) / 10,
    };
    const fault = worstOf(faultsOf(request, reply.statusCode));
    if (fault) sampled(fault.code, (left) => request.log[levelOf(fault)]({ ...answered, ...fault, ...left }, fault.outcome));
    else request.log.info({ ...answered, outcome: 'done' }, 'answered');
    done();
  });
}

/** Measures every answer by its route and counts each fault. Addresses are not used: there are too many, and some are secrets. */
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
