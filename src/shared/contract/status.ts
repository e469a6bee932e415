import { z } from 'zod';
import { serviceStates } from '../domain/service-state.ts';
import { dateTime } from './fields.ts';

export const serviceState = z.enum(serviceStates);

const count = z.int().min(0);
const knownCount = count.nullable().describe('null while it cannot be read and was never known');
const milliseconds = z.number().min(0).nullable().describe('milliseconds; null before the first stamp');

export const providerStatus = z
  .object({
    name: z.string(),
    is_qualified: z.boolean(),
    status: serviceState,
    last_success_at: dateTime.nullable(),
    latency_ms: z.object({ p50: milliseconds, p95: milliseconds }),
  })
  .meta({ id: 'ProviderStatus' });
export type ProviderStatus = z.output<typeof providerStatus>;

export const statusCounters = z
  .object({
    stamps: knownCount,
    failed: knownCount,
    verifications: knownCount,
    workflows_started: knownCount,
    workflows_completed: knownCount,
  })
  .meta({ id: 'ActivityCounters' });
export type StatusCounters = z.output<typeof statusCounters>;

/** `/api/v1/status`: figures only; nothing of a caller, an id, a host or a path. */
export const statusResponse = z
  .object({
    status: serviceState,
    version: z.string(),
    time: dateTime.describe('when the figures were taken'),
    uptime_seconds: count,
    provider: providerStatus.describe('the preferred provider'),
    providers: z.array(providerStatus),
    queue: z.object({
      depth: count.nullable().describe('stamps that wait; null while the queue cannot be read'),
      oldest_job_age_seconds: z.number().min(0).nullable().describe('null where none waits'),
    }),
    counters: z.object({ last_24h: statusCounters.describe('this hour and the 23 before it'), lifetime: statusCounters }),
  })
  .meta({ id: 'Status' });
export type StatusResponse = z.output<typeof statusResponse>;
