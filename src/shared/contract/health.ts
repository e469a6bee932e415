import { z } from 'zod';
import { mailState } from './status.ts';

const healthCheck = z.enum(['ok', 'failing']);

/** As the workers see it; `unknown` while no worker is heard, and until a provider was asked. */
const providerCheck = z.enum([...healthCheck.options, 'unknown']);

/** Of the clock that a key of one's own stamps by; absent where no provider is one. */
const clockCheck = z.enum([...providerCheck.options, 'unchecked']);

/** `/health/`: liveness of the process, with what it sees of its surroundings. */
export const healthResponse = z
  .object({
    status: z.enum(['ok', 'degraded']),
    version: z.string(),
    checks: z.object({ redis: healthCheck, mongodb: healthCheck, provider: providerCheck, mail: mailState, clock: clockCheck.optional() }),
  })
  .meta({ id: 'Health' });
export type HealthResponse = z.output<typeof healthResponse>;

/** `/health/live`: the process answers; it never depends on Redis or MongoDB. */
export const livenessResponse = z.object({ status: z.literal('ok') }).meta({ id: 'Liveness' });
export type LivenessResponse = z.output<typeof livenessResponse>;

/** `/health/ready`: whether it can serve; 503 with the same body when it cannot. */
export const readinessResponse = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    checks: z.object({ redis: healthCheck, mongodb: healthCheck }),
  })
  .meta({ id: 'Readiness' });
export type ReadinessResponse = z.output<typeof readinessResponse>;
