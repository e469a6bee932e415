import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';

/**
 * The origin on which this process listens; empty before it listens. `0.0.0.0` and `::` mean every address and do not work in links, so they are
 * replaced by the loopback address.
 */
const ownOrigin = (app: FastifyInstance): string =>
  (app.server.listening ? app.listeningOrigin : '').replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

/** The start of our absolute URLs, without a final slash. It never depends on the request. */
export const baseUrlOf = (app: FastifyInstance, publicBaseUrl: string | undefined): string => publicBaseUrl ?? ownOrigin(app);

/** Whether a request comes from a page of another origin. Programs send no `Origin`. */
type IsForeign = (request: FastifyRequest) => boolean;

/**
 * Our own origins are those on which this process listens, the origin of `PUBLIC_BASE_URL`, and `others`. The `Host` header is not trusted: in a DNS
 * rebinding attack the attacker controls it (M9).
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

/** Refuses (415) a body without a content type from a page of another origin, because a browser sends such a request without a CORS preflight. */
export function registerForeignBodies(app: FastifyInstance, isForeign: IsForeign): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const { headers } = request;
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    const isRefused = hasBody && headers['content-type'] === undefined && isForeign(request);
    if (!isRefused) return done(null, payload);
    done(new ServiceError('unsupported_media_type', 'A page of another origin must send JSON with Content-Type application/json.'));
  });
}
