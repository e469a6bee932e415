import { X509Certificate } from 'node:crypto';
import { type BulkheadPolicy, bulkhead, CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen, wrap } from 'cockatiel';
import type { TokenProof } from '../../shared/domain/stamp.ts';
import type { ProviderHealth } from '../../shared/queue/heartbeat.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { checkProvider, type ProviderCheck } from './check.ts';
import { createHealthRecord, type OnCall, recordCall } from './health.ts';
import { type StampSubject, TimeUnavailableError, TsaRefusedError } from './provider.ts';
import type { Rfc3161Provider } from './rfc3161.ts';

/**
 * Runs a call with a signal that aborts after `ms` milliseconds, or when `outer` aborts. The timer is cleared when the call ends: AbortSignal.timeout
 * would keep its timer, and thousands of timers cost more than the calls.
 */
async function withDeadline<T>(ms: number, call: (signal: AbortSignal) => Promise<T>, outer?: AbortSignal): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException('the time is up', 'TimeoutError')), Math.max(1, Math.floor(ms)));
  const onAbort = () => controller.abort(outer?.reason);
  if (outer?.aborted) onAbort();
  else outer?.addEventListener('abort', onAbort, { once: true });
  try {
    return await call(controller.signal);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', onAbort);
  }
}

/**
 * The circuit breaker of a provider is *closed* at first and lets every call through. After several failures in a row it is *open* and refuses each
 * call at once. After a pause (`openMs`) it is *half open* and lets one call through: a success closes it, a failure opens it again. These do not
 * count as failures: a refused request of a client, an unconfirmed clock, and a call that was cut short because the stamp's time ran out.
 */
const failuresUntilOpen = 5;
const openMs = 10_000;

/** If a call is aborted after this share of its time or later, it still counts as a failure of the provider. */
const patience = 0.9;

/** The maximum number of requests that wait for a provider: more than a worker ever has, so none is refused here. */
const mostWaiting = 1_000_000;

/** The call ended because the stamp had spent most of its time elsewhere. It is not the provider's fault. */
class CutShortError extends Error {
  override readonly name = 'CutShortError';
}

/** One TSA of a pool, with a circuit breaker and a limit of calls at a time. */
export interface Member {
  readonly provider: Rfc3161Provider;
  /**
   * @param shareMs the time that this provider may use, including the wait for a free place
   * @param stamps the number of callers' stamps in this request, for the metrics
   */
  ask(subject: StampSubject, shareMs: number, stamps: number): Promise<TokenProof>;
  check(shareMs: number): Promise<ProviderCheck>;
  health(): ProviderHealth;
}

export function createMember(provider: Rfc3161Provider, clock: Clock, onCall: OnCall): Member {
  const breaker = circuitBreaker(
    handleWhen((error) => !(error instanceof CutShortError || error instanceof TsaRefusedError || error instanceof TimeUnavailableError)),
    { halfOpenAfter: openMs, breaker: new ConsecutiveBreaker(failuresUntilOpen) },
  );
  const limit: BulkheadPolicy = bulkhead(provider.maxConcurrent, mostWaiting);
  const guarded = wrap(limit, breaker);
  const record = createHealthRecord({
    name: provider.name,
    isQualified: provider.isQualified,
    clock,
    isOut: () => breaker.state === CircuitState.Open || isClockOut(provider),
  });
  const call = (subject: StampSubject, shareMs: number, signal: AbortSignal, tell: OnCall): Promise<TokenProof> => {
    const startedAt = clock();
    const stamp = async () => {
      try {
        return await provider.stamp(subject, signal);
      } catch (error) {
        const hadItsTime = clock() - startedAt >= patience * Math.min(provider.timeoutMs, shareMs);
        throw signal.aborted && !hadItsTime ? new CutShortError('the time of the stamp was up', { cause: error }) : error;
      }
    };
    const blame = (error: unknown) => {
      if (error instanceof TsaRefusedError) return 'caller';
      return error instanceof CutShortError ? 'nobody' : 'provider';
    };
    return recordCall({ record, clock, onCall: tell, provider: provider.name }, stamp, blame);
  };
  const guard = (subject: StampSubject, shareMs: number, tell: OnCall): Promise<TokenProof> =>
    withDeadline(shareMs, (signal) => guarded.execute(() => call(subject, shareMs, signal, tell), signal));
  return {
    provider,
    ask: (subject, shareMs, stamps) => guard(subject, shareMs, (ended) => onCall({ ...ended, stamps })),
    check: (shareMs) => {
      const { name, isQualified, readToken, readClock } = provider;
      return checkProvider(
        { name, isQualified, readToken, readClock, stamp: (subject) => guard(subject, shareMs, () => undefined) },
        clock,
      );
    },
    health: () => ({ ...record.read(), ...chainShown(provider), ...clockShown(provider) }),
  };
}

/** Whether the provider has a key of ours and our clock is not confirmed: then it issues no stamps. */
function isClockOut({ readClock }: Rfc3161Provider): boolean {
  const state = readClock?.().state;
  return state === 'off' || state === 'unknown';
}

function clockShown({ readClock }: Rfc3161Provider): Pick<ProviderHealth, 'clock'> {
  const clock = readClock?.();
  return clock ? { clock: { state: clock.state, driftMs: clock.driftMs } } : {};
}

/** The certificates of a provider as PEM, for clients of the RFC 3161 endpoint (T5). */
function chainShown(provider: Rfc3161Provider): Pick<ProviderHealth, 'certificateChain'> {
  const chain = provider.chain();
  return chain ? { certificateChain: chain.map(({ der }) => new X509Certificate(der).toString()).join('') } : {};
}
