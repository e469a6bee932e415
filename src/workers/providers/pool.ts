import { X509Certificate } from 'node:crypto';
import { type BulkheadPolicy, bulkhead, CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen, wrap } from 'cockatiel';
import type { Proof } from '../../shared/domain/stamp.ts';
import type { ProviderHealth } from '../../shared/queue/heartbeat.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import { checkProvider, type ProviderCheck } from './check.ts';
import { createHealthRecord, isDoubtful, type OnCall, recordCall } from './health.ts';
import {
  ProviderError,
  type StampSubject,
  TierUnavailableError,
  type TimestampProvider,
  TimeUnavailableError,
  TsaRefusedError,
} from './provider.ts';
import type { Rfc3161Provider } from './rfc3161.ts';

/** A breaker opens after this many failures in a row, and lets one call through again after the pause. */
const failuresUntilOpen = 5;
const openMs = 10_000;

/** A call that was cut off after this share of its time still counts as a failure of the provider. */
const patience = 0.9;

/** How many stamps may wait for a free place at a provider: more than a worker ever holds, so none is refused here. */
const mostWaiting = 1_000_000;

/**
 * All configured TSAs as one provider. They are asked in order of preference; each has its own circuit breaker and its own limit of calls
 * at a time.
 */
export interface ProviderPool extends TimestampProvider {
  health(): ProviderHealth[];
  /**
   * Asks each provider that has not answered yet or failed last time. Without this, a provider behind one that works would never be
   * asked. It costs one stamp at start and one at each recovery; these belong to no caller and are not counted.
   */
  check(): Promise<ProviderCheck[]>;
  close(): void;
}

/** The call ended because the stamp's time was used up by waiting for others. The provider is not to blame. */
class CutShortError extends Error {
  override readonly name = 'CutShortError';
}

interface Member {
  readonly provider: Rfc3161Provider;
  /** `shareMs`: how much of the time for the stamp this provider may use, including the wait for a free place. */
  stamp(subject: StampSubject, shareMs: number): Promise<Proof>;
  check(shareMs: number): Promise<ProviderCheck>;
  health(): ProviderHealth;
}

function createMember(provider: Rfc3161Provider, clock: Clock, onCall: OnCall): Member {
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
  const call = (subject: StampSubject, shareMs: number, signal: AbortSignal, tell: OnCall): Promise<Proof> => {
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
  const guard = (subject: StampSubject, shareMs: number, tell: OnCall): Promise<Proof> => {
    const signal = AbortSignal.timeout(Math.max(1, Math.floor(shareMs)));
    return guarded.execute(() => call(subject, shareMs, signal, tell), signal);
  };
  return {
    provider,
    stamp: (subject, shareMs) => guard(subject, shareMs, onCall),
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

/** `deadlineMs`: how long all providers together may take for a stamp; shorter than the time that a caller waits. */
export function createProviderPool(options: {
  providers: readonly Rfc3161Provider[];
  deadlineMs: number;
  clock: Clock;
  log: Logger;
  onCall?: OnCall;
}): ProviderPool {
  const { providers, deadlineMs, clock, log, onCall = () => undefined } = options;
  const members = providers.map((provider) => createMember(provider, clock, onCall));
  const preferred = providers[0];
  if (!preferred) throw new RangeError('a pool has at least one provider');

  return {
    name: preferred.name,
    isQualified: preferred.isQualified,
    stamp: async (subject) => {
      const endsAt = clock() + deadlineMs;
      const failures: unknown[] = [];
      const fitting = members.filter(({ provider }) => provider.isQualified || !subject.requiresQualified);
      if (fitting.length === 0) {
        onCall({ provider: preferred.name, outcome: 'refused', seconds: 0 });
        throw new TierUnavailableError('a qualified stamp was asked for, and no provider is qualified');
      }
      const policy = subject.asked?.policy;
      const serving = fitting.filter(({ provider }) => policy === undefined || provider.policyOid === policy);
      if (serving.length === 0) {
        onCall({ provider: preferred.name, outcome: 'refused', seconds: 0 });
        throw new TsaRefusedError('unacceptedPolicy', `no provider stamps under the policy ${policy}`);
      }
      for (const [index, { provider, stamp }] of serving.entries()) {
        // The time that is left is divided among the providers not yet asked, so that one that hangs leaves time for the next.
        const shareMs = (endsAt - clock()) / (serving.length - index);
        if (shareMs <= 0) break;
        try {
          return await stamp(subject, shareMs);
        } catch (error) {
          failures.push(error);
          if (error instanceof TsaRefusedError) {
            const { fault, message: reason } = error;
            log.info(
              { outcome: 'refused', code: fault, reason, provider: provider.name, tokenId: subject.tokenId },
              'the request was refused',
            );
            continue;
          }
          log.warn({ err: error, provider: provider.name, tokenId: subject.tokenId }, `provider ${provider.name} failed`);
        }
      }
      const refusals = failures.filter((error) => error instanceof TsaRefusedError);
      const refusal = refusals.find(({ fault }) => fault !== undefined) ?? refusals[0];
      if (refusal && refusals.length === serving.length) throw refusal;
      const timeless = failures.find((error) => error instanceof TimeUnavailableError);
      if (timeless && failures.every((error) => error instanceof TimeUnavailableError || error instanceof TsaRefusedError)) throw timeless;
      throw new ProviderError('every provider failed', { cause: new AggregateError(failures) });
    },
    health: () => members.map((member) => member.health()),
    check: () => {
      const doubtful = members.filter((member) => isDoubtful(member.health()));
      return Promise.all(doubtful.map((member) => member.check(deadlineMs)));
    },
    close: () => {
      for (const { provider } of members) provider.close();
    },
  };
}
