import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';

/** Where this process listens, empty while it does not; no link leads to the address that stands for all of them. */
const ownOrigin = (app: FastifyInstance): string =>
  (app.server.listening ? app.listeningOrigin : '').replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

/** What absolute addresses of ours start with, without a last slash; no request has a say in it. */
export const baseUrlOf = (app: FastifyInstance, publicBaseUrl: string | undefined): string => publicBaseUrl ?? ownOrigin(app);

/** Whether a request comes from a page of somebody else; programs send no `Origin`. */
export type IsForeign = (request: FastifyRequest) => boolean;

/**
 * Our own origins are where this process listens, by each of its names, where `PUBLIC_BASE_URL` says that it is reached, and those of
 * `others`. `Host` says nothing: whoever rebinds a name to our address chooses it (M9).
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
 * A page of somebody else can make a browser send a body without a content type, and the browser asks nobody whether it may: such a
 * body is not read as JSON (415).
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
