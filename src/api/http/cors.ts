import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

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
    'RateLimit-Limit',
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
