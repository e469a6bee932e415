import type { FastifyInstance } from 'fastify';
import { addressKey, type RateLimits } from '../plugins/rate-limits.ts';
import type { StatusService } from '../services/status.ts';

/** Together with the age of the figures themselves they are never older than 5 s. */
const cacheControl = 'public, max-age=2';

/** The state of the service for programs, and as a page for people (limited by R1). */
export function registerStatusRoutes(app: FastifyInstance, deps: { status: StatusService; limits: RateLimits; perMinute: number }): void {
  const { status, limits, perMinute } = deps;
  const onRequest = limits.by({ name: 'status', points: perMinute, durationSeconds: 60, key: addressKey });

  app.get('/api/v1/status', async (_request, reply) => {
    reply.header('Cache-Control', cacheControl);
    return (await status.read()).response;
  });
  app.get('/status', { onRequest }, async (_request, reply) => {
    const { response, components, days } = await status.read();
    return reply.header('Cache-Control', cacheControl).page('status', { status: response, components, days });
  });
}
