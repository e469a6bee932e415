import { z } from 'zod';
import { mailState } from './status.ts';

const healthCheck = z.enum(['ok', 'failing']);

/** The state of the providers, as the workers report it. `unknown`: no worker reports, or no provider was called yet. */
const providerCheck = z.enum([...healthCheck.options, 'unknown']);

/** The state of the clock for the service's own signing key. Absent if no provider uses such a key. */
const clockCheck = z.enum([...providerCheck.options, 'unchecked']);

/** The answer of `/health/`: the state of the service and of everything that it depends on. */
export const healthResponse = z
  .object({
    status: z.enum(['ok', 'degraded']),
    version: z.string(),
    checks: z.object({ redis: healthCheck, mongodb: healthCheck, provider: providerCheck, mail: mailState, clock: clockCheck.optional() }),
  })
  .meta({ id: 'Health' });
export type HealthResponse = z.output<typeof healthResponse>;

/** The answer of `/health/live`: the process is running. It does not depend on Redis or MongoDB. */
export const livenessResponse = z.object({ status: z.literal('ok') }).meta({ id: 'Liveness' });
export type LivenessResponse = z.output<typeof livenessResponse>;

/** The answer of `/health/ready`: whether the service can serve requests. If it cannot, the status is 503 and the body has the same form. */
export const readinessResponse = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    checks: z.object({ redis: healthCheck, mongodb: healthCheck }),
  })
  .meta({ id: 'Readiness' });
export type ReadinessResponse = z.output<typeof readinessResponse>;
