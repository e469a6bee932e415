import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: Set<string>;
}

/**
 * Answers requests that match no route (E8): 405 with `Allow` if the path takes other methods; 307 if only the final slash is missing or too much
 * (FastAPI's `redirect_slashes`); otherwise 404. If a path is exactly the path of a route, it never matches a parameter of another route, so `GET
 * /api/v1/workflow/start` is 405. Register it before the routes.
 */
export function registerNotFound(app: FastifyInstance): void {
  const knownPaths = new Map<string, KnownPath>();

  app.addHook('onRoute', ({ url, method }) => {
    // The CORS plugin registers this route; it is not a real path.
    if (url === '*') return;
    const known = knownPaths.get(url) ?? { pattern: patternOf(url), methods: new Set() };
    knownPaths.set(url, known);
    for (const name of [method].flat()) known.methods.add(name);
  });

  const methodsAt = (path: string): string[] => {
    const own = knownPaths.get(path);
    const known = own ? [own] : [...knownPaths.values()].filter(({ pattern }) => pattern.test(path));
    return [...new Set(known.flatMap(({ methods }) => [...methods]))].sort();
  };

  const refusalOf = ({ url }: FastifyRequest, reply: FastifyReply): ServiceError => {
    const { path } = splitAddress(url);
    const allowed = methodsAt(decodeURI(path)).join(', ');
    if (allowed === '') return new ServiceError('not_found', 'There is nothing at this address.');
    reply.header('Allow', allowed);
    return new ServiceError('method_not_allowed', `${path.slice(0, 200)} takes ${allowed}.`);
  };

  // For a QUERY, Fastify checks the content type (400) before it reports that no route exists.
  app.addHook('preParsing', (request, reply, payload, done) => {
    if (request.is404 && request.method === 'QUERY') done(refusalOf(request, reply));
    else done(null, payload);
  });

  app.addHook('onRequest', async (request, reply) => {
    const { url = '' } = request.routeOptions;
    const { path } = splitAddress(request.url);
    const isOthers = url !== path && url !== '*' && knownPaths.get(path)?.methods.has(request.method) === false;
    if (isOthers) throw refusalOf(request, reply);
  });

  app.setNotFoundHandler((request, reply) => {
    const refusal = refusalOf(request, reply);
    if (refusal.code === 'method_not_allowed') throw refusal;
    const { path, query } = splitAddress(request.url);
    const other = path.endsWith('/') ? path.slice(0, -1) : `${path}/`;
    if (other !== '' && methodsAt(decodeURI(other)).length > 0) return reply.redirect(other + query, 307);
    throw refusal;
  });
}

/** Turns a route's path into a regular expression: `:name` matches one segment, `*` matches the rest. */
function patternOf(url: string): RegExp {
  const source = url
    .split('/')
    .map((segment) => (segment.startsWith(':') ? '[^/]+' : segment.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')))
    .join('/');
  return new RegExp(`^${source}$`);
}

function splitAddress(address: string): { readonly path: string; readonly query: string } {
  const mark = address.indexOf('?');
  return mark < 0 ? { path: address, query: '' } : { path: address.slice(0, mark), query: address.slice(mark) };
}
