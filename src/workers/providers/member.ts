import { X509Certificate } from 'node:crypto';
import pLimit from 'p-limit';
import { awaitsList } from '../../shared/domain/qualification.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { ClockState } from '../../shared/domain/service-state.ts';
import type { TokenProof } from '../../shared/domain/stamp.ts';
import { repliedQualificationOf } from '../../shared/queue/jobs.ts';
import type { ProviderHealth } from '../../shared/redis/heartbeat.ts';
import type { ProviderNotes } from '../../shared/redis/provider-notes.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { Clock } from '../../shared/runtime/timers.ts';
import { every, within } from '../../shared/runtime/timers.ts';
import { checkProvider, createHealthRecord, type OnCall, type ProviderCheck } from './health.ts';
import { RateReachedError, type StampSubject, TierUnavailableError, TimeUnavailableError, TsaRefusedError } from './provider.ts';
import { InvalidAnswerError, isTimeFault, type Rfc3161Provider } from './rfc3161.ts';
import { TransportError } from './tsa-client.ts';

/** The longest pause between tries of a provider that fails, in milliseconds. A provider with a `rate` counts them, so it is asked less often. */
const longestPauseMs = 60_000;
const longestPauseWithRateMs = 600_000;

/** The share of a provider's places that stamps may use for which nobody waits. */
const promisedShare = 0.25;

/** How often the notes of other workers are read, in milliseconds. */
const refreshEveryMs = 1_000;

/** If a call is aborted after this share of its time or later, it still counts as a failure of the provider. */
const patience = 0.9;

/** The call ended because the stamp had spent most of its time elsewhere. It is not the provider's fault. */
class CutShortError extends Error {
  override readonly name = 'CutShortError';
}

/** The provider failed several times in a row, and it is not asked now. */
class ProviderOutError extends Error {
  override readonly name = 'ProviderOutError';
}

/** The states of a clock that is not confirmed. */
const unconfirmed: readonly ClockState[] = ['off', 'unknown'];

/** Who caused a failed call. */
function blame(error: unknown): 'provider' | 'caller' | 'nobody' {
  if (error instanceof TsaRefusedError || error instanceof TierUnavailableError) return 'caller';
  return [CutShortError, RateReachedError, ServiceError].some((kind) => error instanceof kind) ? 'nobody' : 'provider';
}

export type Member = ReturnType<typeof createMember>;

/** One TSA of a pool, with a circuit breaker and a limit of calls at a time. */
export function createMember(
  provider: Rfc3161Provider,
  { notes, clock, log, onCall }: { notes: ProviderNotes; clock: Clock; log: Logger; onCall: OnCall },
) {
  const { name, rate } = provider;
  const breaker = notes.breakerOf(name, rate ? longestPauseWithRateMs : longestPauseMs);
  const places = pLimit(provider.maxConcurrent);
  const promisedPlaces = Math.max(1, Math.floor(promisedShare * provider.maxConcurrent));
  const fewPlaces = pLimit(promisedPlaces);
  /** Whether the provider has a key of ours and our clock is not confirmed: then it issues no stamps. */
  const isClockOut = () => {
    const ownClock = provider.readClock?.();
    return ownClock !== undefined && unconfirmed.includes(ownClock.state);
  };
  const isOut = () => breaker.isOpen() || isClockOut();
  const record = createHealthRecord({ name, isQualified: () => provider.isQualified, clock, isOut });
  const refresh = async () => {
    const reading = rate?.refresh().catch((error: unknown) => log.debug({ err: error, provider: name }, 'the rate cannot be read'));
    await Promise.all([breaker.refresh(), reading]);
  };
  const closing = new AbortController();
  void every(refreshEveryMs, refresh, closing.signal);

  async function stamp(subject: StampSubject, shareMs: number, signal: AbortSignal): Promise<TokenProof> {
    const startedAt = performance.now();
    try {
      return await provider.stamp(subject, signal);
    } catch (error) {
      const hadItsTime = performance.now() - startedAt >= patience * Math.min(provider.timeoutMs, shareMs);
      throw signal.aborted && !hadItsTime ? new CutShortError('the time of the stamp was up', { cause: error }) : error;
    }
  }

  /** Makes one call, if the rate and the breaker let it through. */
  async function call(subject: StampSubject, shareMs: number, signal: AbortSignal, onEnded: OnCall): Promise<TokenProof> {
    signal.throwIfAborted();
    const waitMs = rate?.view().nextInMs ?? 0;
    if (waitMs > 0) throw new RateReachedError(waitMs, rate?.longestMs);
    if (!(await breaker.mayAsk())) throw new ProviderOutError('it failed several times in a row, and is not asked now');
    try {
      const proof = await record.call(() => stamp(subject, shareMs, signal), blame, onEnded);
      breaker.succeeded();
      return proof;
    } catch (error) {
      const atFault = blame(error);
      if (atFault === 'caller') breaker.succeeded();
      else if (atFault === 'provider' && !(error instanceof TimeUnavailableError)) {
        const isOfTime = error instanceof InvalidAnswerError && isTimeFault(error.code);
        breaker.failed(error instanceof TransportError ? { pauseMs: error.retryAfterMs } : { clockMs: isOfTime ? clock() : undefined });
      }
      throw error;
    }
  }

  function guard(subject: StampSubject, shareMs: number, onEnded: OnCall): Promise<TokenProof> {
    const ending = new AbortController();
    const callNow = () => call(subject, shareMs, ending.signal, onEnded);
    const ask = () => (subject.isPromised ? fewPlaces(() => places(callNow)) : places(callNow));
    return within(shareMs, ask, (error) => ending.abort(error));
  }

  return {
    provider,
    /** The maximum number of calls at a time for stamps that nobody waits for. */
    promisedPlaces,
    /**
     * @param shareMs the time that this provider may use, including the wait for a free place
     * @param stamps the number of callers' stamps in this request, for the metrics
     */
    ask: (subject: StampSubject, shareMs: number, stamps: number): Promise<TokenProof> =>
      guard(subject, shareMs, (ended) => onCall({ ...ended, stamps })),
    check: (shareMs: number): Promise<ProviderCheck> =>
      checkProvider({ ...provider, stamp: (subject) => guard(subject, shareMs, () => undefined) }, clock),
    health: (): ProviderHealth => {
      const view = rate?.view();
      const waitMs = Math.max(breaker.pauseLeftMs(), view?.nextInMs ?? 0);
      return {
        ...record.read(),
        mayBeQualified: provider.mayBeQualified || awaitsList(provider.qualification?.reason),
        ...repliedQualificationOf(provider),
        // For clients of the RFC 3161 endpoint (T5).
        certificateChain: provider
          .chain()
          ?.map(({ der }) => new X509Certificate(der).toString())
          .join(''),
        clock: provider.readClock?.(),
        rate: rate && view && { ...rate.settings, left: view.left },
        nextRequestAt: waitMs > 0 ? new Date(clock() + waitMs).toISOString() : undefined,
      };
    },
    isOut: breaker.isOpen,
    /** Whether other workers have asked it lately, and it has not failed. Only known for a provider with a `rate`. */
    isInUse: (): boolean => rate !== undefined && rate.view().left < rate.settings.requests && !breaker.hasFailures(),
    refresh,
    close: (): void => {
      closing.abort();
      provider.close();
    },
  };
}
