import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';

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
