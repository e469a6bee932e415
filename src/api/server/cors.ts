import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/** What anybody may ask needs no leave of ours in a browser either: verification, proofs, evidence, pricing, and the API's document (E13). */
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
  // An OPTIONS that is no preflight is a method like any other (E8).
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
 * Lets pages of other origins read the answers of the interface (E13, the Fetch standard §3.2): all of them where nothing secret is sent or
 * answered, those of `CORS_ORIGINS` elsewhere, and for assistants those of `MCP_ORIGINS` too. Pages of ours are read by people only.
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
