import type { FastifyInstance } from 'fastify';

type Headers = readonly (readonly [name: string, value: string])[];

/** Nothing is sniffed, and nobody else is told of an address: some of them hold capabilities (S11, W6). */
const everywhere: Headers = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['X-Frame-Options', 'DENY'],
  ['Strict-Transport-Security', 'max-age=31536000'],
];

const forPages: Headers = [
  ...everywhere,
  [
    'Content-Security-Policy',
    "default-src 'none';style-src 'self';script-src 'self';img-src 'self' data:;connect-src 'self';form-action 'self';" +
      "base-uri 'none';frame-ancestors 'none'",
  ],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Permissions-Policy', 'camera=(), geolocation=(), microphone=()'],
];

/** Nothing of it may run, even where a browser is led to show it; and it is stored nowhere. */
const forJson: Headers = [
  ...everywhere,
  ['Content-Security-Policy', "default-src 'none';frame-ancestors 'none'"],
  ['Cache-Control', 'no-store'],
];

function headersFor(type: unknown): Headers {
  if (typeof type !== 'string') return everywhere;
  if (type.startsWith('application/json')) return forJson;
  return type.startsWith('text/html') ? forPages : everywhere;
}

/**
 * Headers of every answer; what a route has set itself stays. The sets are constants: `@fastify/helmet` puts them together anew for
 * each request, which took as long as the rest of a small request.
 */
export function registerSecurityHeaders(app: FastifyInstance): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    for (const [name, value] of headersFor(reply.getHeader('content-type'))) {
      if (!reply.hasHeader(name)) reply.header(name, value);
    }
    done(null, payload);
  });
}
