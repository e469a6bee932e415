import type { FastifyRequest } from 'fastify';

/** The connection is closed when the client has read nothing for this long. */
const mostSilentMs = 30_000;

/** For an answer that takes memory until it is read. */
export function dropSilentReader(request: FastifyRequest): void {
  request.raw.setTimeout(mostSilentMs, () => request.raw.destroy());
}
