import { z } from 'zod';
import { mailState } from './status.ts';

const healthCheck = z.enum(['ok', 'failing']);

/** The state that the workers report. It is `unknown` while no worker reports, and before the first call of a provider. */
const providerCheck = z.enum([...healthCheck.options, 'unknown']);

/** The clock of the service's own signing key; absent if no provider uses one. */
const clockCheck = z.enum([...providerCheck.options, 'unchecked']);

/** `/health/`: liveness of the process, with the state of its dependencies. */
export const healthResponse = z
  .object({
    status: z.enum(['ok', 'degraded']),
    version: z.string(),
    checks: z.object({ redis: healthCheck, mongodb: healthCheck, provider: providerCheck, mail: mailState, clock: clockCheck.optional() }),
  })
  .meta({ id: 'Health' });
export type HealthResponse = z.output<typeof healthResponse>;

/** `/health/live`: the process answers. It does not depend on Redis or MongoDB. */
export const livenessResponse = z.object({ status: z.literal('ok') }).meta({ id: 'Liveness' });
export type LivenessResponse = z.output<typeof livenessResponse>;

/** `/health/ready`: whether the service can serve; otherwise 503 with the same body. */
export const readinessResponse = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    checks: z.object({ redis: healthCheck, mongodb: healthCheck }),
  })
  .meta({ id: 'Readiness' });
export type ReadinessResponse = z.output<typeof readinessResponse>;
