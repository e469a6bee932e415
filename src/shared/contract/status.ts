import { z } from 'zod';
import { clockStates, durabilities, mailStates, qualifications, serviceStates } from '../domain/service-state.ts';
import { dateTime } from './fields.ts';

const serviceState = z.enum(serviceStates);

/** Of health and status alike. */
export const mailState = z
  .enum(mailStates)
  .describe('as the workers see it; `unknown` before the first mail and while no worker is heard; `not_configured`: none can be sent');

const count = z.int().min(0);
const knownCount = count.nullable().describe('null while it cannot be read and was never known');
const milliseconds = z.number().min(0).nullable().describe('milliseconds; null before the first answer');

const providerStatus = z
  .object({
    name: z.string(),
    is_qualified: z.boolean().describe('true only once a token of it was verified'),
    qualification: z.enum(qualifications).describe('`not_asked`: configured as qualified, but none of its tokens was verified yet'),
    status: serviceState,
    last_success_at: dateTime.nullable().describe('when it last answered with a token that was verified; null: not asked yet'),
    latency_ms: z.object({ p50: milliseconds, p95: milliseconds }),
    clock: z
      .object({
        status: z.enum(clockStates),
        drift_ms: z.number().nullable().describe('how far it is ahead of what others say, milliseconds; null while nobody says anything'),
      })
      .optional()
      .describe('of the clock that a key of one’s own stamps by; `off` or `unknown`: it stamps nothing'),
  })
  .meta({ id: 'ProviderStatus' });
export type ProviderStatus = z.output<typeof providerStatus>;

const statusCounters = z
  .object({
    stamps: knownCount,
    failed: knownCount,
    verifications: knownCount,
    workflows_started: knownCount,
    workflows_completed: knownCount,
    evidence_renewed: knownCount.describe('stamps and batches of stamps whose evidence was renewed (RFC 4998)'),
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
    mail: z.object({ status: mailState }),
    queue: z.object({
      depth: count.nullable().describe('stamps that wait; null while the queue cannot be read'),
      oldest_job_age_seconds: z.number().min(0).nullable().describe('null where none waits'),
      durability: z
        .enum(durabilities)
        .describe('what of accepted stamps a crash of the queue spares: all, all but its last second, perhaps none, or not known'),
      failed_jobs: count.nullable().describe('jobs that were given up and wait for the operator; null while the queue cannot be read'),
    }),
    evidence: z
      .object({
        last_run_at: dateTime.nullable().describe('when it was last looked for evidence to renew'),
        due: count.nullable().describe('stamps and batches that should have been renewed then, and that no provider could renew'),
        lapsed: count.nullable().describe('stamps and batches whose evidence ended without a renewal'),
        unknown: count
          .nullable()
          .describe('stamps and batches whose evidence could not be judged, and so not renewed; looked at again daily'),
      })
      .describe('null while it cannot be read, and before the first look'),
    counters: z.object({ last_24h: statusCounters.describe('this hour and the 23 before it'), lifetime: statusCounters }),
  })
  .meta({ id: 'Status' });
export type StatusResponse = z.output<typeof statusResponse>;
