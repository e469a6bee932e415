import { randomBytes, randomUUID } from 'node:crypto';
import type { Qualification } from '../../shared/domain/qualification.ts';
import type { ClockState } from '../../shared/domain/service-state.ts';
import { type Proof, sha256Imprint, type TokenProof } from '../../shared/domain/stamp.ts';
import type { RateView, RequestRate } from '../../shared/redis/request-rate.ts';
import type { Verified } from '../../shared/rfc3161/index.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { RateSettings } from '../../shared/trust/providers-file.ts';
import { RateReachedError, type StampSubject } from './provider.ts';

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

/** The functions of a provider that a check needs. */
interface CheckedProvider {
  readonly name: string;
  readonly stamp: (subject: StampSubject) => Promise<Proof>;
  /** Reads a token of the provider. Absent if the provider does not make tokens, like the mock. */
  readonly readToken?: (proof: TokenProof) => Promise<Verified>;
  readonly rate?: RequestRate | undefined;
  readonly readClock?: (() => { readonly state: ClockState; readonly driftMs: number | null }) | undefined;
}

/** The message of an error and those of its causes: for system errors only the causes are specific. */
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const said = code && !error.message.includes(code) ? [error.message, code].filter(Boolean).join(' ') : error.message;
  return error.cause === undefined ? said : `${said}: ${faultOf(error.cause)}`;
}

/** Requests one stamp of random bytes from a provider and discards it. Any failure is part of the result; this never throws. */
export async function checkProvider(provider: CheckedProvider, clock: Clock): Promise<ProviderCheck> {
  const { rate } = provider;
  const check = { ...(await askProvider(provider, clock)), ...(rate && { rate: { ...rate.settings, ...rate.view() } }) };
  const read = provider.readClock?.();
  return read ? { ...check, clock: read.state, clockDifferenceMs: read.driftMs && Math.round(read.driftMs) } : check;
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
    return { ...asked, isQualified: false, verdict, fault: faultOf(error), latencyMs: latencyMs() };
  }
}
