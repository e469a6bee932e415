import { randomBytes, randomUUID } from 'node:crypto';
import type { Qualification } from '../../shared/domain/qualification.ts';
import type { ClockState } from '../../shared/domain/service-state.ts';
import { type Proof, sha256Imprint, type TokenProof } from '../../shared/domain/stamp.ts';
import type { ProviderHealth } from '../../shared/redis/heartbeat.ts';
import type { RateView, RequestRate } from '../../shared/redis/provider-notes.ts';
import type { Verified } from '../../shared/rfc3161/index.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { Metrics } from '../../shared/runtime/metrics.ts';
import { type Clock, every } from '../../shared/runtime/timers.ts';
import type { RateSettings } from '../../shared/trust/providers-file.ts';
import { RateReachedError, type StampSubject } from './provider.ts';

/** After this many failed calls in a row a provider is in outage. */
const outageAfterFailures = 3;

/** Latencies are computed from the last successful calls, at most this many. */
const rememberedCalls = 512;

/** Whether the provider needs a test stamp: it has never answered, its last call failed, or it is in outage. */
export const isDoubtful = ({ status, lastSuccessAt }: ProviderHealth): boolean => status !== 'operational' || lastSuccessAt === null;

/** Called after each request that was made for callers; `stamps` is the number of their stamps in it. */
export type OnCall = Metrics['stamped'];

/** Says who caused a failed call: the provider, the caller (whose request cannot be served), or nobody of these two. */
type Blame = (error: unknown) => 'provider' | 'caller' | 'nobody';

/** Records the calls of one provider. `isOut`: whether its circuit breaker is open. */
export function createHealthRecord(options: { name: string; isQualified: () => boolean; clock: Clock; isOut?: () => boolean }) {
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
    /** Makes one call and records how it ended. */
    call: async <T>(work: () => Promise<T>, blame: Blame, onCall: OnCall): Promise<T> => {
      const startedAt = performance.now();
      const end = (outcome: 'stamped' | 'failed' | 'refused') =>
        onCall({ provider: name, outcome, seconds: (performance.now() - startedAt) / 1_000, stamps: 1 });
      try {
        const answer = await work();
        failuresInARow = 0;
        lastSuccessMs = clock();
        latencies[calls % rememberedCalls] = Math.round(performance.now() - startedAt);
        calls += 1;
        end('stamped');
        return answer;
      } catch (error) {
        const atFault = blame(error);
        if (atFault === 'provider') failuresInARow += 1;
        if (atFault !== 'nobody') end(atFault === 'caller' ? 'refused' : 'failed');
        throw error;
      }
    },
    read: (): ProviderHealth => {
      const sorted = latencies.toSorted((a, b) => a - b);
      const quantile = (q: number) => sorted[Math.ceil(q * sorted.length) - 1] ?? null;
      const qualified = isQualified();
      return {
        name,
        isQualified: qualified,
        mayBeQualified: qualified,
        status: status(),
        lastSuccessAt: lastSuccessMs === undefined ? null : new Date(lastSuccessMs).toISOString(),
        p50: quantile(0.5),
        p95: quantile(0.95),
      };
    },
  };
}

/** How often providers that have not answered or have failed are asked again. An open circuit breaker also stops these calls. */
const checkEveryMs = 5_000;

/**
 * Sends a test request to every provider at start, in the background, and later to those that `check` selects. Logs the first result of each, and
 * then only changes.
 */
export function watchProviders({ check, log }: { check: () => Promise<readonly ProviderCheck[]>; log: Logger }): { stop(): void } {
  const verdicts = new Map<string, ProviderCheck['verdict']>();
  const report = (asked: ProviderCheck) => {
    const { provider, verdict } = asked;
    if (verdict === 'not_asked' || verdicts.get(provider) === verdict) return;
    verdicts.set(provider, verdict);
    if (verdict === 'ok') log.info(asked, `provider ${provider} was asked: it answers`);
    else log.warn(asked, `provider ${provider} was asked: it failed`);
  };
  const stopping = new AbortController();
  const ask = async () => {
    const answers = await check();
    if (!stopping.signal.aborted) answers.forEach(report);
  };
  void every(checkEveryMs, ask, stopping.signal);
  return { stop: () => stopping.abort() };
}

/** The result of a provider's test stamp. A null value means: not in the answer. */
export interface ProviderCheck {
  readonly provider: string;
  /** Whether the token of its answer is qualified (V9). */
  readonly isQualified: boolean;
  /** Who says so, or why it is not. Absent without a token. */
  readonly qualification?: Qualification | undefined;
  /** `not_asked`: the provider allows no request now. */
  readonly verdict: 'ok' | 'failed' | 'not_asked';
  readonly fault: string | null;
  readonly latencyMs: number;
  /** The signer's certificate; `validUntil` is RFC 3339 in UTC. */
  readonly certificate: { readonly subject: string; readonly validUntil: string } | null;
  /** Dotted OID. */
  readonly policy: string | null;
  /** How far the provider's clock is ahead of ours, measured at the middle of the exchange and as exact as its genTime. */
  readonly clockDifferenceMs: number | null;
  /** Only for a provider with a key of ours, which uses our clock. Then `clockDifferenceMs` is how far our clock is ahead of the others. */
  readonly clock?: ClockState;
  /** Only for a provider with a `rate`: the requests that are left, and the milliseconds until the next one may go. */
  readonly rate?: RateSettings & RateView;
}

interface CheckedProvider {
  readonly name: string;
  readonly stamp: (subject: StampSubject) => Promise<Proof>;
  /** Reads a token of the provider. Absent if the provider does not make tokens, like the mock. */
  readonly readToken?: (proof: TokenProof) => Promise<Verified>;
  readonly rate?: RequestRate | undefined;
  readonly readClock?: (() => { readonly state: ClockState; readonly driftMs: number | null }) | undefined;
}

/** The message of an error and those of its causes: for system errors only the causes are specific. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const said = code && !error.message.includes(code) ? [error.message, code].filter(Boolean).join(' ') : error.message;
  return error.cause === undefined ? said : `${said}: ${messageOf(error.cause)}`;
}

/** Requests one stamp of random bytes from a provider and discards it. Any failure is part of the result; this never throws. */
export async function checkProvider(provider: CheckedProvider, clock: Clock): Promise<ProviderCheck> {
  const { rate } = provider;
  const check = await askProvider(provider, clock);
  const own = provider.readClock?.();
  return {
    ...check,
    ...(rate && { rate: { ...rate.settings, ...rate.view() } }),
    ...(own && { clock: own.state, clockDifferenceMs: own.driftMs && Math.round(own.driftMs) }),
  };
}

async function askProvider({ name, stamp, readToken }: CheckedProvider, clock: Clock): Promise<ProviderCheck> {
  const imprint = sha256Imprint(randomBytes(32).toString('hex'));
  const askedAtMs = clock();
  const startedAt = performance.now();
  const latencyMs = () => Math.round(performance.now() - startedAt);
  const asked = { provider: name, certificate: null, policy: null, clockDifferenceMs: null };
  try {
    const proof = await stamp({ tokenId: randomUUID(), imprint, tier: 'basic' });
    const { isQualified, qualification } = proof;
    const answered = { ...asked, isQualified, qualification, verdict: 'ok', fault: null, latencyMs: latencyMs() } as const;
    if (proof.kind !== 'token' || !readToken) return answered;
    const { signer, policy, genTime } = await readToken(proof);
    return {
      ...answered,
      certificate: { subject: signer.subject, validUntil: signer.notAfter.toISOString() },
      policy,
      clockDifferenceMs: Math.round(genTime.getTime() - askedAtMs - answered.latencyMs / 2),
    };
  } catch (error) {
    const verdict = error instanceof RateReachedError ? 'not_asked' : 'failed';
    return { ...asked, isQualified: false, verdict, fault: messageOf(error), latencyMs: latencyMs() };
  }
}
