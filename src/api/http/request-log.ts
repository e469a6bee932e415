import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../../shared/runtime/metrics.ts';
import { type Fault, faultsOf, worstOf } from './errors.ts';

/** The log level of a fault: `info` for refusals, `warn` if a server that we use failed, `error` for an unexpected error. */
const levelOf = ({ outcome, code }: Fault): 'info' | 'warn' | 'error' =>
  outcome === 'refused' ? 'info' : code === 'internal_error' ? 'error' : 'warn';

/**
 * Logs one line for each answered request. `outcome` says whether it was done, refused or failed, and `code` says why. If many fail for the same
 * reason, only some are logged. The line contains the route, never the URL, because some URLs are secret (S11).
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

/** Measures every answer by its route and counts each fault. URLs are not used: there are too many, and some are secret. */
export function registerRequestMetrics(app: FastifyInstance, metrics: Metrics): void {
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none';
    const faults = faultsOf(request, reply.statusCode);
    const outcome = worstOf(faults)?.outcome ?? 'done';
    metrics.answered({ method: request.method, route, status: reply.statusCode, outcome, seconds: reply.elapsedTime / 1_000 });
    for (const fault of faults) metrics.faulted(fault);
    done();
  });
}

/** The maximum number of lines of one kind that are logged in a second. Further lines are only counted. */
const mostPerSecond = 20;

/**
 * Logs only some lines of a flood, because a log line costs as much time as a refusal. It calls `write` for the first lines of a kind in each second,
 * with the number of lines that were left out since the last call. Use it only with few different values of `kind`, for example statuses or codes,
 * because each stays in memory.
 */
export function createSampledLog(now: () => number = () => performance.now()) {
  const seconds = new Map<string | number, { endsAt: number; logged: number; unlogged: number }>();
  return (kind: string | number, write: (left: { unlogged?: number }) => void): void => {
    const second = seconds.get(kind) ?? { endsAt: 0, logged: 0, unlogged: 0 };
    seconds.set(kind, second);
    if (now() >= second.endsAt) {
      second.endsAt = now() + 1_000;
      second.logged = 0;
    }
    if (second.logged >= mostPerSecond) {
      second.unlogged += 1;
      return;
    }
    second.logged += 1;
    const { unlogged } = second;
    second.unlogged = 0;
    write(unlogged > 0 ? { unlogged } : {});
  };
}
