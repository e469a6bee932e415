import { z } from 'zod';
import { clockStates, durabilities, listStates, mailStates, qualifications, serviceStates, survivals } from '../domain/service-state.ts';
import { callerKinds } from '../domain/stamp.ts';
import { dateTime, sha256Hex } from './fields.ts';
import { detailsQuery, queryInteger } from './parameters.ts';
import { qualifiedBrief, stampTier } from './stamp.ts';

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
      survives: z
        .enum(survivals)
        .describe(
          'what every accepted stamp survives: a failover of the queue to another server, a crash of its server, neither, or unknown',
        ),
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

export const callerKind = z.enum(callerKinds);

/** The query parameters of the list of stamps (S12). */
export const listQuery = detailsQuery.extend({
  limit: queryInteger({ low: 1, high: 500, fallback: 50 }),
  offset: queryInteger({ low: 0, high: 100_000, fallback: 0 }),
  imprints: z
    .enum(['sha256', 'all'])
    .default('sha256')
    .describe('`all`: also stamps of SHA-384 and SHA-512, which come from the RFC 3161 endpoint; their `content_sha256` is null'),
});

export const dailyQuery = z.object({ days: queryInteger({ low: 1, high: 90, fallback: 7 }) });

const latencyMs = z.number().min(0).nullable().describe('milliseconds; null if nothing was stamped');

const dailyStatsRow = z
  .object({
    date: z.iso.date().describe('day in UTC'),
    provider: z.string(),
    is_qualified: z.boolean(),
    caller_kind: callerKind,
    stamps: z.int().min(0),
    failed: z.int().min(0),
    latency_ms_p50: latencyMs,
    latency_ms_p95: latencyMs,
  })
  .meta({ id: 'DailyStatsRow' });
export type DailyStatsRow = z.output<typeof dailyStatsRow>;

/** The rows of the daily statistics, newest day first. Days without traffic have no row. */
export const dailyStatsResponse = z.array(dailyStatsRow).meta({ id: 'DailyStats' });

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

/** The answer of `/health/ready`: whether the service can serve requests. If it cannot, the status is 503 and the body has the same form. */
export const readinessResponse = z
  .object({
    status: z.enum(['ready', 'not_ready']),
    checks: z.object({ redis: healthCheck, mongodb: healthCheck }),
  })
  .meta({ id: 'Readiness' });
export type ReadinessResponse = z.output<typeof readinessResponse>;

const currency = z
  .string()
  .regex(/^[A-Z]{3}$/)
  .describe('ISO 4217');

const tierPrice = z
  .object({
    tier: stampTier,
    method: z.literal('POST'),
    path: z.string(),
    price: z.object({ amount: z.string().regex(/^[0-9]+\.[0-9]{2}$/), currency }).nullable(),
    max_content_bytes: z.int().min(0).describe('0 if no content is allowed'),
  })
  .meta({ id: 'TierPrice' });

export const pricingResponse = z
  .object({
    version: z.string(),
    currency,
    payment_required: z.boolean(),
    payment_header: z.literal('x-payment-transaction'),
    tiers: z.array(tierPrice),
    free: z.array(z.string()).describe('operations that never cost anything'),
    updated_at: dateTime,
  })
  .meta({ id: 'Pricing' });
export type PricingResponse = z.output<typeof pricingResponse>;

/** The answer of `/openapi.json`, as this document describes itself. */
export const openApiDocument = z.looseObject({ openapi: z.string() });
