import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';

/**
 * Where this process listens; empty until it does. `0.0.0.0` and `::` stand for every address and work in no link, so loopback takes
 * their place.
 */
const ownOrigin = (app: FastifyInstance): string =>
  (app.server.listening ? app.listeningOrigin : '').replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

/** The start of our absolute addresses, without a last slash. It never depends on the request. */
export const baseUrlOf = (app: FastifyInstance, publicBaseUrl: string | undefined): string => publicBaseUrl ?? ownOrigin(app);

/** Whether a request comes from a page of somebody else; programs send no `Origin`. */
export type IsForeign = (request: FastifyRequest) => boolean;

/**
 * Our own origins are the addresses on which this process listens, `PUBLIC_BASE_URL`, and `others`. The `Host` header is not trusted: an
 * attacker who points a name at our address (DNS rebinding) chooses what it says (M9).
 */
export function createForeignOrigins(app: FastifyInstance, publicBaseUrl: string | undefined, others: readonly string[] = []): IsForeign {
  const named = [publicBaseUrl, ...others].filter((address) => address !== undefined).map((address) => new URL(address).origin);
  const listening = () => {
    if (!app.server.listening) return [];
    const { protocol, port, origin } = new URL(ownOrigin(app));
    return [origin, ...['127.0.0.1', '[::1]', 'localhost'].map((host) => new URL(`${protocol}//${host}:${port}`).origin)];
  };
  return ({ headers: { origin } }) => origin !== undefined && !named.includes(origin) && !listening().includes(origin);
}

/**
 * Refuses JSON without a content type (415) when a page of another origin sends it: a browser sends such a request without asking us
 * first (CORS preflight).
 */
export function registerForeignBodies(app: FastifyInstance, isForeign: IsForeign): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const { headers } = request;
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    const isRefused = hasBody && headers['content-type'] === undefined && isForeign(request);
    if (!isRefused) return done(null, payload);
    done(new ServiceError('unsupported_media_type', 'A page of another origin must send JSON with Content-Type application/json.'));
  });
}
