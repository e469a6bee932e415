import type { FastifyCorsOptions } from '@fastify/cors';
import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';
import { announcedBytes } from './body-reader.ts';

type Headers = readonly (readonly [name: string, value: string])[];

/**
 * Headers of all answers. For example, browsers must not guess content types, and must not send our URLs to other sites, because some are secret
 * (S11).
 */
const everywhere: Headers = [
  ['x-content-type-options', 'nosniff'],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['x-frame-options', 'DENY'],
  ['strict-transport-security', 'max-age=31536000'],
];

const forPages: Headers = [
  ...everywhere,
  [
    'content-security-policy',
    "default-src 'none';style-src 'self';script-src 'self';img-src 'self' data:;connect-src 'self';form-action 'self';" +
      "base-uri 'none';frame-ancestors 'none'",
  ],
  ['cross-origin-opener-policy', 'same-origin'],
  ['permissions-policy', 'camera=(), geolocation=(), microphone=()'],
];

/** Headers of JSON answers: a browser must not run anything in them, and caches must not store them. */
const forJson: Headers = [
  ...everywhere,
  ['content-security-policy', "default-src 'none';frame-ancestors 'none'"],
  ['cache-control', 'no-store'],
];

function headersFor(type: unknown): Headers {
  if (typeof type !== 'string') return everywhere;
  if (type.startsWith('application/json')) return forJson;
  return type.startsWith('text/html') ? forPages : everywhere;
}

/**
 * Adds these headers to every answer, but keeps headers that a route has set. The lists are constants: `@fastify/helmet` builds them for each
 * request, which took as long as the rest of a small request.
 */
export function registerSecurityHeaders(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    for (const [name, value] of headersFor(reply.getHeader('content-type'))) {
      if (!reply.hasHeader(name)) reply.header(name, value);
    }
    done(null, payload);
  });
}

/** Refuses a request with more than one `Host` header (400, RFC 9112 §3.2): Node uses the first one, but a proxy in front of us may use another. */
export function registerHostRule(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const hosts = request.raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.length === 4 && name.toLowerCase() === 'host');
    done(hosts.length > 1 ? new ServiceError('bad_request', 'A request must have only one Host header.') : undefined);
  });
}

/** Public operations that pages of every origin may use: verification, proofs, evidence, pricing and the OpenAPI document. */
const openPaths = [
  /^\/api\/v1\/verify\//,
  /^\/api\/v1\/workflow\/[^/]+\/(proof|consistency)(\/|$)/,
  /^\/workflow\/[^/]+\/(evidence\.(zip|json)|outputs\.json|closing-record\.json)$/,
  /^\/api\/v1\/agent\/pricing$/,
  /^\/openapi\.json$/,
];
const assistants = /^\/mcp$/;
const interfacePaths = /^\/(api\/|tsa$)/;

const common: FastifyCorsOptions = {
  methods: ['GET', 'HEAD', 'POST'],
  maxAge: 600,
  // An OPTIONS request that is not a preflight is treated like any other request.
  strictPreflight: false,
  exposedHeaders: [
    'Allow',
    'Content-Disposition',
    'Idempotent-Replayed',
    'Location',
    'Preference-Applied',
    'Qstamp-Batch',
    'Qstamp-Stamp-Id',
    'RateLimit',
    'RateLimit-Limit',
    'RateLimit-Policy',
    'RateLimit-Remaining',
    'RateLimit-Reset',
    'Retry-After',
    'WWW-Authenticate',
  ],
};

/**
 * Lets pages of other origins call the API (E13; Fetch standard §3.2). The operations in `openPaths` are open to every origin, the others to
 * `CORS_ORIGINS`, and `/mcp` also to `MCP_ORIGINS`. Our HTML pages are not open to other origins.
 */
export async function registerCors(
  app: FastifyInstance,
  origins: { readonly cors: readonly string[]; readonly mcp: readonly string[] },
): Promise<void> {
  const originFor = (path: string): NonNullable<FastifyCorsOptions['origin']> => {
    if (openPaths.some((open) => open.test(path))) return '*';
    const allowed = assistants.test(path) ? [...origins.cors, ...origins.mcp] : interfacePaths.test(path) ? [...origins.cors] : [];
    return allowed.length > 0 && allowed;
  };
  await app.register(cors, {
    delegator: (request, done) => {
      const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
      const isWanted = isPreflight || request.method !== 'OPTIONS';
      done(null, { ...common, origin: isWanted && originFor(request.url.split('?', 1)[0] ?? '') });
    },
  });
}

/**
 * The origin on which this process listens; empty before it listens. `0.0.0.0` and `::` mean every address and do not work in links, so they are
 * replaced by the loopback address.
 */
export const ownOrigin = (app: FastifyInstance): string =>
  (app.server.listening ? app.listeningOrigin : '').replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

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
    const isRefused = announcedBytes(request) !== 0 && request.headers['content-type'] === undefined && isForeign(request);
    if (!isRefused) return done(null, payload);
    done(new ServiceError('unsupported_media_type', 'A page of another origin must send JSON with Content-Type application/json.'));
  });
}
