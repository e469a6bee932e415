import { z } from 'zod';
import { callerKinds } from '../domain/caller.ts';
import { detailsQuery, queryInteger } from './parameters.ts';

/** The interface through which a stamp request came. */
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

/** The query parameters of the daily statistics. */
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
