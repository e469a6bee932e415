import type { FastifyInstance } from 'fastify';
import {
  healthResponse,
  type LivenessResponse,
  livenessResponse,
  type ReadinessResponse,
  readinessResponse,
} from '../../shared/contract/status.ts';
import { json, type OperationContract } from '../http/operation.ts';
import { noteFault } from '../http/outcome.ts';
import type { HealthService } from './health.ts';

const tag = 'Health and status';

const checkContract: OperationContract = {
  tag,
  id: 'checkHealth',
  summary: 'Health, with the state of everything that this process depends on',
  answers: { 200: json('The process answers; `status` includes everything that it depends on.', healthResponse) },
};
const liveContract: OperationContract = {
  tag,
  id: 'checkLiveness',
  summary: 'Liveness',
  answers: { 200: json('The process answers. This never depends on Redis or MongoDB.', livenessResponse) },
};
const readyContract: OperationContract = {
  tag,
  id: 'checkReadiness',
  summary: 'Readiness',
  answers: {
    200: json('Stamps can be accepted and read.', readinessResponse),
    503: {
      ...json('Stamps cannot be accepted or read.', readinessResponse, { 'Retry-After': 'Seconds.' }),
      example: { status: 'not_ready', checks: { redis: 'ok', mongodb: 'failing' } } satisfies ReadinessResponse,
    },
  },
};

/** Registers the health routes, for people and orchestrators. `live`: the process answers. `ready`: stamps can be accepted and read. */
export function registerHealthRoutes(app: FastifyInstance, health: HealthService): void {
  app.get('/health/', { config: { contract: checkContract } }, async () => health.check());
  app.get('/health/live', { config: { contract: liveContract } }, async (): Promise<LivenessResponse> => ({ status: 'ok' }));
  app.get('/health/ready', { config: { contract: readyContract } }, async (request, reply) => {
    const readiness = await health.checkReadiness();
    if (readiness.status === 'not_ready') {
      noteFault(request, { outcome: 'failed', code: 'not_ready' });
      reply.code(503).header('Retry-After', '2');
    }
    return readiness;
  });
}
