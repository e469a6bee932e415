import type { FastifyInstance } from 'fastify';
import { ServiceError } from '../../shared/domain/service-error.ts';

type Headers = readonly (readonly [name: string, value: string])[];

/** Browsers take our content types as they are, and tell no other site our addresses: some of these are secrets (S11, W6). */
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

/** For JSON: a browser that shows it runs nothing in it, and nobody stores it. */
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
 * Sets the headers of every answer; those that a route has set itself stay. The sets are constants, because `@fastify/helmet` builds them
 * for each request, which took as long as the rest of a small request.
 */
export function registerSecurityHeaders(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    for (const [name, value] of headersFor(reply.getHeader('content-type'))) {
      if (!reply.hasHeader(name)) reply.header(name, value);
    }
    done(null, payload);
  });
}

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
