import { X509Certificate } from 'node:crypto';
import { bulkhead, wrap } from 'cockatiel';
import { awaitsList } from '../../shared/domain/qualification.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { TokenProof } from '../../shared/domain/stamp.ts';
import { repliedQualificationOf } from '../../shared/queue/jobs.ts';
import type { ProviderHealth } from '../../shared/redis/heartbeat.ts';
import type { Breaker, ProviderNotes } from '../../shared/redis/provider-notes.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { Clock } from '../../shared/runtime/timers.ts';
import { every, within } from '../../shared/runtime/timers.ts';
import { checkProvider, createHealthRecord, type OnCall, type ProviderCheck, recordCall } from './health.ts';
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

/** The maximum number of requests that wait for a provider: more than a worker ever has, so none is refused here. */
const mostWaiting = 1_000_000;

/** The call ended because the stamp had spent most of its time elsewhere. It is not the provider's fault. */
class CutShortError extends Error {
  override readonly name = 'CutShortError';
}

/** The provider failed several times in a row, and it is not asked now. */
class ProviderOutError extends Error {
  override readonly name = 'ProviderOutError';
}

/** One TSA of a pool, with a circuit breaker and a limit of calls at a time. */
export interface Member {
  readonly provider: Rfc3161Provider;
  /** The maximum number of calls at a time for stamps that nobody waits for. */
  readonly promisedPlaces: number;
  /**
   * @param shareMs the time that this provider may use, including the wait for a free place
   * @param stamps the number of callers' stamps in this request, for the metrics
   */
  ask(subject: StampSubject, shareMs: number, stamps: number): Promise<TokenProof>;
  check(shareMs: number): Promise<ProviderCheck>;
  health(): ProviderHealth;
  /** Whether the circuit breaker is open. */
  isOut(): boolean;
  /** Whether other workers have asked it lately, and it has not failed. Only known for a provider with a `rate`. */
  isInUse(): boolean;
  /** Reads what other workers have noted about the provider. */
  refresh(): Promise<void>;
  close(): void;
}

/** What a failed call means for the provider's breaker; undefined: it is not the provider's fault. */
function faultOf(error: unknown, clock: Clock): Parameters<Breaker['failed']>[0] | undefined {
  if (error instanceof CutShortError || error instanceof TsaRefusedError || error instanceof TierUnavailableError) return undefined;
  if (error instanceof TimeUnavailableError || error instanceof RateReachedError || error instanceof ProviderOutError) return undefined;
  if (error instanceof ServiceError) return undefined;
  if (error instanceof TransportError) return { pauseMs: error.retryAfterMs };
  return { clockMs: error instanceof InvalidAnswerError && isTimeFault(error.code) ? clock() : undefined };
}

export function createMember(
  provider: Rfc3161Provider,
  { notes, clock, log, onCall }: { notes: ProviderNotes; clock: Clock; log: Logger; onCall: OnCall },
): Member {
  const { name, rate } = provider;
  const breaker = notes.breakerOf(name, rate ? longestPauseWithRateMs : longestPauseMs);
  const places = bulkhead(provider.maxConcurrent, mostWaiting);
  const promisedPlaces = Math.max(1, Math.floor(promisedShare * provider.maxConcurrent));
  const fewPlaces = wrap(bulkhead(promisedPlaces, mostWaiting), places);
  const record = createHealthRecord({
    name,
    isQualified: () => provider.isQualified,
    clock,
    isOut: () => breaker.isOpen() || isClockOut(provider),
  });
  const refresh = async () => {
    const reading = rate?.refresh().catch((error: unknown) => log.debug({ err: error, provider: name }, 'the rate cannot be read'));
    await Promise.all([breaker.refresh(), reading]);
  };
  const closing = new AbortController();
  void every(refreshEveryMs, refresh, closing.signal);

  const call = (subject: StampSubject, shareMs: number, signal: AbortSignal, tell: OnCall): Promise<TokenProof> => {
    const startedAt = performance.now();
    const stamp = async () => {
      try {
        return await provider.stamp(subject, signal);
      } catch (error) {
        const hadItsTime = performance.now() - startedAt >= patience * Math.min(provider.timeoutMs, shareMs);
        throw signal.aborted && !hadItsTime ? new CutShortError('the time of the stamp was up', { cause: error }) : error;
      }
    };
    const blame = (error: unknown) => {
      if (error instanceof TsaRefusedError || error instanceof TierUnavailableError) return 'caller';
      return [CutShortError, RateReachedError, ServiceError].some((kind) => error instanceof kind) ? 'nobody' : 'provider';
    };
    return recordCall({ record, onCall: tell, provider: name }, stamp, blame);
  };
  const callIfItMay = async (subject: StampSubject, shareMs: number, signal: AbortSignal, tell: OnCall): Promise<TokenProof> => {
    const waitMs = rate?.view().nextInMs ?? 0;
    if (waitMs > 0) throw new RateReachedError(waitMs, rate?.longestMs);
    if (!(await breaker.mayAsk())) throw new ProviderOutError('it failed several times in a row, and is not asked now');
    try {
      const proof = await call(subject, shareMs, signal, tell);
      breaker.succeeded();
      return proof;
    } catch (error) {
      const fault = faultOf(error, clock);
      if (fault) breaker.failed(fault);
      else if (error instanceof TsaRefusedError || error instanceof TierUnavailableError) breaker.succeeded();
      throw error;
    }
  };
  function guard(subject: StampSubject, shareMs: number, tell: OnCall): Promise<TokenProof> {
    const ending = new AbortController();
    const { signal } = ending;
    const ask = () => (subject.isPromised ? fewPlaces : places).execute(() => callIfItMay(subject, shareMs, signal, tell), signal);
    return within(shareMs, ask, (error) => ending.abort(error));
  }
  return {
    provider,
    promisedPlaces,
    ask: (subject, shareMs, stamps) => guard(subject, shareMs, (ended) => onCall({ ...ended, stamps })),
    check: (shareMs) => {
      const { readToken, readClock } = provider;
      const checked = {
        name,
        readToken,
        readClock,
        rate,
        stamp: (subject: StampSubject) => guard(subject, shareMs, () => undefined),
      };
      return checkProvider(checked, clock);
    },
    health: () => ({
      ...record.read(),
      mayBeQualified: provider.mayBeQualified || awaitsList(provider.qualification?.reason),
      ...repliedQualificationOf(provider),
      ...chainShown(provider),
      ...clockShown(provider),
      ...paceOf(provider, breaker, clock),
    }),
    isOut: breaker.isOpen,
    isInUse: () => rate !== undefined && rate.view().left < rate.settings.requests && !breaker.hasFailures(),
    refresh,
    close: () => {
      closing.abort();
      provider.close();
    },
  };
}

/** What is left of the provider's rate, and when it may be asked again, if not now. */
function paceOf({ rate }: Rfc3161Provider, breaker: Breaker, clock: Clock): Pick<ProviderHealth, 'rate' | 'nextRequestAt'> {
  const view = rate?.view();
  const waitMs = Math.max(breaker.pauseLeftMs(), view?.nextInMs ?? 0);
  return {
    ...(rate && view && { rate: { ...rate.settings, left: view.left } }),
    ...(waitMs > 0 && { nextRequestAt: new Date(clock() + waitMs).toISOString() }),
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
