import { z } from 'zod';
import { clockStates, durabilities, listStates, mailStates, qualifications, serviceStates } from '../domain/service-state.ts';
import { dateTime, sha256Hex } from './fields.ts';
import { qualifiedBrief } from './stamp.ts';

const serviceState = z.enum(serviceStates);

/** The state of mail, in the answers of `/health/` and `/api/v1/status`. */
export const mailState = z
  .enum(mailStates)
  .describe('as the workers report it; `unknown` before the first mail and while no worker reports; `not_configured`: mail cannot be sent');

const count = z.int().min(0);
const knownCount = count.nullable().describe('null if it was never read successfully');
const milliseconds = z.number().min(0).nullable().describe('milliseconds; null before the first answer');

const providerStatus = z
  .object({
    name: z.string(),
    is_qualified: z.boolean().describe('true only after one of its tokens was verified'),
    qualification: z.enum(qualifications).describe('`not_asked`: configured as qualified, but no token was verified yet'),
    qualified: qualifiedBrief
      .nullable()
      .describe('who says that its stamps are qualified or not; null until one of its tokens was verified'),
    status: serviceState,
    last_success_at: dateTime.nullable().describe('when it last returned a token that verified; null: not asked yet'),
    latency_ms: z.object({ p50: milliseconds, p95: milliseconds }),
    rate: z
      .object({ requests: count, per_seconds: count, left: count.describe('requests that may go now') })
      .optional()
      .describe('how many requests the provider allows in any period of `per_seconds`, if the operator has set it'),
    next_request_at: dateTime.nullable().describe('when it is asked next, because it failed or its rate is reached; null: now'),
    clock: z
      .object({
        status: z.enum(clockStates),
        drift_ms: z.number().nullable().describe('how far it is ahead of the reference clocks, in milliseconds; null if none answers'),
      })
      .optional()
      .describe('the clock of the service’s own signing key; with `off` or `unknown` the key does not stamp'),
  })
  .meta({ id: 'ProviderStatus' });
export type ProviderStatus = z.output<typeof providerStatus>;

const trustedListStatus = z
  .object({
    territory: z.string().describe('the code of the country; `EU`: the list of lists'),
    state: z.enum(listStates).describe('`due_soon`: within seven days; `closed`: no update will come; `missing`: none was accepted yet'),
    sequence_number: count.nullable(),
    issued_at: dateTime.nullable(),
    next_update: dateTime.nullable().describe('when the next list is due'),
    sha256: sha256Hex.nullable().describe('of the file at `/trusted-lists/{sha256}`'),
    checked_at: dateTime.describe('the last refresh'),
    reason: z.string().nullable().describe('why the last refresh brought no list: a code and a sentence; the list before stays in force'),
  })
  .meta({ id: 'TrustedListStatus' });
export type TrustedListStatus = z.output<typeof trustedListStatus>;

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

/** The answer of `/api/v1/status`. It contains only numbers and states: no data of callers, no ids, no host names, no paths of files. */
export const statusResponse = z
  .object({
    status: serviceState,
    version: z.string(),
    time: dateTime.describe('when the figures were read'),
    uptime_seconds: count,
    provider: providerStatus.describe('the preferred provider'),
    providers: z.array(providerStatus),
    mail: z.object({ status: mailState }),
    queue: z.object({
      depth: count.nullable().describe('waiting stamps; null while the queue cannot be read'),
      oldest_job_age_seconds: z.number().min(0).nullable().describe('null if no stamp waits'),
      durability: z
        .enum(durabilities)
        .describe('which accepted stamps survive a crash of the queue: all, all but the last second, perhaps none, or unknown'),
      failed_jobs: count.nullable().describe('jobs that were given up and need the operator; null while the queue cannot be read'),
    }),
    evidence: z
      .object({
        last_run_at: dateTime.nullable().describe('the last search for evidence to renew'),
        due: count.nullable().describe('stamps and batches that were due then and that no provider could renew'),
        lapsed: count.nullable().describe('stamps and batches whose evidence expired without a renewal'),
        unknown: count
          .nullable()
          .describe('stamps and batches whose evidence could not be judged and so was not renewed; tried again daily'),
      })
      .describe('null while it cannot be read, and before the first search'),
    trusted_lists: z.array(trustedListStatus).describe('the trusted lists in force; empty if the service uses none'),
    counters: z.object({ last_24h: statusCounters.describe('this hour and the 23 before it'), lifetime: statusCounters }),
  })
  .meta({ id: 'Status' });
export type StatusResponse = z.output<typeof statusResponse>;
