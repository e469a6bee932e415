import { z } from 'zod';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { TimestampProvider } from './provider.ts';

/** What one worker knows of one provider; latencies in milliseconds, null before the first stamp. */
export const providerHealth = z.object({
  name: z.string(),
  isQualified: z.boolean(),
  /** `degraded` after a failed call, `outage` after several in a row or while its breaker is open. */
  status: z.enum(['operational', 'degraded', 'outage']),
  /** RFC 3339 in UTC. */
  lastSuccessAt: z.string().nullable(),
  p50: z.number().nullable(),
  p95: z.number().nullable(),
});
export type ProviderHealth = z.output<typeof providerHealth>;

/** Failed calls in a row from which on a provider counts as out. */
const outageAfterFailures = 3;

/** Latencies are those of this many last successes. */
const rememberedCalls = 512;

/** Follows the calls of one provider. */
export interface HealthRecord {
  succeeded(latencyMs: number): void;
  failed(): void;
  read(): ProviderHealth;
}

/** `isOut` says of a provider behind a breaker that no call is let through to it. */
export function createHealthRecord(options: { name: string; isQualified: boolean; clock: Clock; isOut?: () => boolean }): HealthRecord {
  const { name, isQualified, clock, isOut = () => false } = options;
  const latencies: number[] = [];
  let calls = 0;
  let failuresInARow = 0;
  let lastSuccessMs: number | undefined;

  const status = (): ProviderHealth['status'] => {
    if (isOut() || failuresInARow >= outageAfterFailures) return 'outage';
    return failuresInARow > 0 ? 'degraded' : 'operational';
  };
  return {
    succeeded: (latencyMs) => {
      failuresInARow = 0;
      lastSuccessMs = clock();
      latencies[calls % rememberedCalls] = latencyMs;
      calls += 1;
    },
    failed: () => {
      failuresInARow += 1;
    },
    read: () => {
      const sorted = latencies.toSorted((a, b) => a - b);
      const quantile = (q: number) => sorted[Math.ceil(q * sorted.length) - 1] ?? null;
      const lastSuccessAt = lastSuccessMs === undefined ? null : new Date(lastSuccessMs).toISOString();
      return { name, isQualified, status: status(), lastSuccessAt, p50: quantile(0.5), p95: quantile(0.95) };
    },
  };
}

/** Told of each call that was made: for the metrics. */
export type OnCall = (call: { provider: string; outcome: 'stamped' | 'failed'; seconds: number; error?: unknown }) => void;

/** The same provider, with a record of how its calls went. */
export function withHealthRecord(
  provider: TimestampProvider,
  clock: Clock,
  onCall: OnCall = () => undefined,
): { provider: TimestampProvider; record: HealthRecord } {
  const record = createHealthRecord({ name: provider.name, isQualified: provider.isQualified, clock });
  const stamp: TimestampProvider['stamp'] = async (subject) => {
    const startedAt = clock();
    try {
      const evidence = await provider.stamp(subject);
      record.succeeded(clock() - startedAt);
      onCall({ provider: provider.name, outcome: 'stamped', seconds: (clock() - startedAt) / 1_000 });
      return evidence;
    } catch (error) {
      // Without its key from the store the mock provider cannot work: that is the store's failure.
      if (!(error instanceof ServiceError)) {
        record.failed();
        onCall({ provider: provider.name, outcome: 'failed', seconds: (clock() - startedAt) / 1_000, error });
      }
      throw error;
    }
  };
  return { provider: { ...provider, stamp }, record };
}
