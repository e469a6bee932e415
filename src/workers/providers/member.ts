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
 * Runs a call whose signal aborts after so many milliseconds, or when `outer` does. Where the call ends before, nothing is left of it:
 * AbortSignal.timeout would keep its timer, and thousands of them cost more than the calls.
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
 * The circuit breaker of a provider is *closed* at first, and lets every call through. After so many failures in a row it is *open*, and refuses
 * each at once. After the pause it is *half open*, and lets one call through: a success closes it, a failure opens it again. What a caller is to
 * blame for, and what ended because a stamp's time was up, is no failure.
 */
const failuresUntilOpen = 5;
const openMs = 10_000;

/** A call that was cut off after this share of its time still counts as a failure of the provider. */
const patience = 0.9;

/** How many stamps may wait for a free place at a provider: more than a worker ever holds, so none is refused here. */
const mostWaiting = 1_000_000;

/** The call ended because the stamp's time was used up by waiting for others. The provider is not to blame. */
class CutShortError extends Error {
  override readonly name = 'CutShortError';
}

/** One TSA of a pool, with a circuit breaker and a limit of calls at a time. */
export interface Member {
  readonly provider: Rfc3161Provider;
  /**
   * @param shareMs how much of the time for the stamp this provider may use, including the wait for a free place
   * @param stamps how many callers' stamps the answer is for: they are counted, not the calls
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

/** A key does not stamp by a clock that nobody confirms. */
function isClockOut({ readClock }: Rfc3161Provider): boolean {
  const state = readClock?.().state;
  return state === 'off' || state === 'unknown';
}

function clockShown({ readClock }: Rfc3161Provider): Pick<ProviderHealth, 'clock'> {
  const clock = readClock?.();
  return clock ? { clock: { state: clock.state, driftMs: clock.driftMs } } : {};
}

/** The certificates of a provider as PEM, for whoever asks the door for them (T5). */
function chainShown(provider: Rfc3161Provider): Pick<ProviderHealth, 'certificateChain'> {
  const chain = provider.chain();
  return chain ? { certificateChain: chain.map(({ der }) => new X509Certificate(der).toString()).join('') } : {};
}
