import { ServiceError } from '../../shared/domain/service-error.ts';
import type { ProviderHealth } from '../../shared/redis/heartbeat.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { checkProvider, type ProviderCheck } from './check.ts';
import { TierUnavailableError, type TimestampProvider } from './provider.ts';

/** After this many failed calls in a row a provider is in outage. */
const outageAfterFailures = 3;

/** Latencies are computed from the last successful calls, at most this many. */
const rememberedCalls = 512;

/** Whether the provider needs a test stamp: it has never answered, its last call failed, or it is in outage. */
export const isDoubtful = ({ status, lastSuccessAt }: ProviderHealth): boolean => status !== 'operational' || lastSuccessAt === null;

/** Records the calls of one provider. */
interface HealthRecord {
  succeeded(latencyMs: number): void;
  failed(): void;
  read(): ProviderHealth;
}

/** `isOut`: whether the provider's circuit breaker is open. */
export function createHealthRecord(options: {
  name: string;
  isQualified: () => boolean;
  clock: Clock;
  isOut?: () => boolean;
}): HealthRecord {
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
      const qualified = isQualified();
      return {
        name,
        isQualified: qualified,
        mayBeQualified: qualified,
        status: status(),
        lastSuccessAt,
        p50: quantile(0.5),
        p95: quantile(0.95),
      };
    },
  };
}

/** How a stamp request to a provider ended. `refused`: the caller's request cannot be served, so the provider has not failed. */
type StampOutcome = 'stamped' | 'failed' | 'refused';

/** Called after each request that was made for callers; `stamps` is the number of their stamps in it. For the metrics. */
export type OnCall = (call: { provider: string; outcome: StampOutcome; seconds: number; stamps: number; error?: unknown }) => void;

/** Says who caused a failed call: the provider, the caller (whose request cannot be served), or nobody of these two. */
type Blame = (error: unknown) => 'provider' | 'caller' | 'nobody';

/** Runs one call of a provider and records the result. */
export async function recordCall<T>(
  { record, onCall, provider }: { record: HealthRecord; onCall: OnCall; provider: string },
  call: () => Promise<T>,
  blame: Blame,
): Promise<T> {
  const startedAt = performance.now();
  try {
    const answer = await call();
    const tookMs = performance.now() - startedAt;
    record.succeeded(Math.round(tookMs));
    onCall({ provider, outcome: 'stamped', seconds: tookMs / 1_000, stamps: 1 });
    return answer;
  } catch (error) {
    const atFault = blame(error);
    if (atFault === 'provider') record.failed();
    if (atFault !== 'nobody') {
      onCall({
        provider,
        outcome: atFault === 'caller' ? 'refused' : 'failed',
        seconds: (performance.now() - startedAt) / 1_000,
        stamps: 1,
        error,
      });
    }
    throw error;
  }
}

/** Wraps a provider so that its calls are recorded. */
export function withHealthRecord(
  provider: TimestampProvider,
  clock: Clock,
  onCall: OnCall = () => undefined,
): { provider: TimestampProvider; record: HealthRecord; check(): Promise<ProviderCheck> } {
  const { name, isQualified } = provider;
  const record = createHealthRecord({ name, isQualified: () => isQualified, clock });
  // The mock provider's key is in the store. If the store is down, nobody is blamed.
  const blame: Blame = (error) => {
    if (error instanceof TierUnavailableError) return 'caller';
    return error instanceof ServiceError ? 'nobody' : 'provider';
  };
  const stampTelling =
    (tell: OnCall): TimestampProvider['stamp'] =>
    (subject) =>
      recordCall({ record, onCall: tell, provider: name }, () => provider.stamp(subject), blame);
  return {
    provider: { ...provider, stamp: stampTelling(onCall) },
    record,
    check: () => checkProvider({ name, stamp: stampTelling(() => undefined) }, clock),
  };
}
