import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';

interface KnownPath {
  readonly pattern: RegExp;
  readonly methods: Set<string>;
}

/**
 * Answers what no route takes (E8): 405 with `Allow` where the path takes other methods, 307 to the path with or without its
 * last slash where that one exists (FastAPI's `redirect_slashes`), else 404. A path that is a route's own word for word is no parameter of
 * another route: `GET /api/v1/workflow/start` is 405. Register it before the routes.
 */
export function registerNotFound(app: FastifyInstance): void {
  const knownPaths = new Map<string, KnownPath>();

  app.addHook('onRoute', ({ url, method }) => {
    // That of CORS, which is no path of its own.
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

  // Fastify asks every QUERY for its content type (400) before it says that no route takes one.
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

/** A route's address as an expression: `:name` is one segment, `*` the rest. */
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
