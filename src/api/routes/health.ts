import type { FastifyInstance } from 'fastify';
import type { LivenessResponse } from '../../shared/contract/health.ts';
import type { HealthService } from '../services/health.ts';

/** Health for people, for orchestrators (`live`: the process answers; `ready`: it can serve). */
export function registerHealthRoutes(app: FastifyInstance, deps: { health: HealthService }): void {
  const { health } = deps;
  app.get('/health/', async () => health.check());
  app.get('/health/live', async (): Promise<LivenessResponse> => ({ status: 'ok' }));
  app.get('/health/ready', async (_request, reply) => {
    const readiness = await health.checkReadiness();
    if (readiness.status === 'not_ready') reply.code(503).header('Retry-After', '2');
    return readiness;
  });
}
