import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';

/**
 * Refuses a request with two `Host` headers (400, RFC 9112 §3.2): Node takes the first one, a proxy in front of us may have taken the
 * other.
 */
export function registerHostRule(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const hosts = request.raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host');
    done(hosts.length > 1 ? new ServiceError('bad_request', 'A request has one Host header.') : undefined);
  });
}
