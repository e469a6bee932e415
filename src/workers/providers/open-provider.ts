import type { KeyObject } from 'node:crypto';
import { issueMockToken, mockProviderName } from '../../shared/domain/mock-token.ts';
import { notQualified } from '../../shared/domain/qualification.ts';
import { ServiceError } from '../../shared/domain/service-error.ts';
import type { Proof } from '../../shared/domain/stamp.ts';
import type { ProviderHealth } from '../../shared/redis/heartbeat.ts';
import type { ProviderNotes } from '../../shared/redis/provider-notes.ts';
import type { Config } from '../../shared/runtime/config.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { Metrics } from '../../shared/runtime/metrics.ts';
import type { Clock } from '../../shared/runtime/timers.ts';
import type { Listing } from '../../shared/store/listings.ts';
import type { Store } from '../../shared/store/store.ts';
import { noLists } from '../../shared/store/trusted-lists.ts';
import type { ListIndex } from '../../shared/trust/lists/index.ts';
import type { TrustedProvider } from '../../shared/trust/trusted-providers.ts';
import { checkProvider, createHealthRecord, isDoubtful, type OnCall, watchProviders } from './health.ts';
import type { ClockWatch, TsaTime } from './key/clock-watch.ts';
import { openKeyProvider } from './key/signing-key.ts';
import { createProviderPool } from './pool.ts';
import { type StampSubject, TierUnavailableError, type TimestampProvider } from './provider.ts';
import { createRfc3161Provider, type Listings, type Rfc3161Provider } from './rfc3161.ts';
import { createTsaClient, readCredentials } from './tsa-client.ts';

/** The time between the counting of a request and its sending is shorter than this, in milliseconds. */
const takeMarginMs = 2_000;

/** The time for all providers together. It is shorter than the caller waits, so that a caller gets 502 (failed) rather than 504 (not yet known). */
const deadlineMsOf = (stampWaitMs: number): number => Math.max(1_000, Math.floor(stampWaitMs * 0.8));

/**
 * Opens the configured TSAs and own keys. The times in the TSAs' tokens are a second opinion on the clock of the own keys. `notes`
 * count the requests of a TSA with a `rate`; without them such a TSA is never asked. Without `listings`, only the operator says who is qualified.
 *
 * @throws ConfigError if a secret cannot be read or a key is not suitable
 */
export async function openTsas(
  providers: readonly TrustedProvider[],
  given: { notes?: ProviderNotes | undefined; listings?: Listings | undefined; clock: Clock; log: Logger },
): Promise<Rfc3161Provider[]> {
  const { notes, listings = createListings(noLists.current), clock, log } = given;
  const watches: ClockWatch[] = [];
  return Array.fromAsync(providers, async ({ settings, trust }) => {
    if (settings.type === 'key') {
      const opened = await openKeyProvider({ settings, trust }, { listings, log });
      watches.push(opened.clockWatch);
      return opened;
    }
    const { name, url, maxConcurrent, timeoutMs } = settings;
    const client = createTsaClient({ url, maxConcurrent, timeoutMs, credentials: readCredentials(settings) });
    const onTime = (answer: TsaTime) => {
      for (const watch of watches) watch.noteTsaTime(answer);
    };
    const rate = settings.rate && notes?.rateOf(name, settings.rate, timeoutMs + takeMarginMs);
    return createRfc3161Provider({ settings, trust, client, listings, clock, onTime, rate });
  });
}

/**
 * Opens the mock provider, or the pool of the TSAs and keys of the providers file. Each provider gets a test request in the background, so that the status page shows only
 * observed facts (V9).
 */
export function openProvider(
  tsas: readonly Rfc3161Provider[],
  given: { config: Config; store: Store; notes: ProviderNotes; metrics: Metrics; clock: Clock; log: Logger },
): { provider: TimestampProvider; readHealth(): ProviderHealth[]; close(): void } {
  const { config, store, notes, metrics, clock, log } = given;
  const onCall = metrics.stamped;
  if (config.TSP === 'mock') {
    const { check, readHealth, ...provider } = createMockProvider({ key: () => store.keys.secret('mock-provider'), clock, onCall });
    const watch = watchProviders({ check: async () => (readHealth().some(isDoubtful) ? [await check()] : []), log });
    return { provider, readHealth, close: watch.stop };
  }
  const deadlineMs = deadlineMsOf(config.STAMP_WAIT_MS);
  const pool = createProviderPool({ providers: tsas, deadlineMs, notes, clock, log, onCall, keepBatch: store.batches.insertOnce });
  const watch = watchProviders({ check: pool.check, log });
  const close = () => {
    watch.stop();
    pool.close();
  };
  return { provider: pool, readHealth: pool.health, close };
}

/**
 * The trusted lists of a process. If it stores stamps, `insertOnce` keeps with the evidence on which list a qualified token rests: once for all tokens of
 * a signer under a list, before the first stamp is answered.
 */
export function createListings(current: () => ListIndex, insertOnce?: (listing: Listing) => Promise<void>): Listings {
  const kept = new Set<string>();
  return {
    current,
    keep: async ({ signer, genTime }, { status, listed }) => {
      const key = `${signer.fingerprint} ${listed?.listSha256}`;
      if (!insertOnce || status !== 'qualified' || !listed || kept.has(key)) return;
      const { atProofOfExistence: _, ...rest } = listed;
      await insertOnce({ signer: signer.fingerprint, listed: rest, listOfLists: current().listOfLists, firstAt: genTime });
      kept.add(key);
    },
  };
}

/**
 * The mock provider. It needs no account, and its stamps are never qualified. It also makes test stamps for workflows of tier `qualified` (W2). A key of
 * the service authenticates its tokens. It accepts only SHA-256. `check` is a test request, which counts no stamp.
 */
export function createMockProvider({ key, clock, onCall }: { key: () => Promise<KeyObject>; clock: Clock; onCall?: OnCall }) {
  const name = mockProviderName;
  const record = createHealthRecord({ name, isQualified: () => false, clock });
  async function make({ tokenId, imprint: { algorithm, digest }, tier }: StampSubject): Promise<Proof> {
    if (algorithm !== 'sha256') throw new TierUnavailableError(`the mock provider stamps only SHA-256, not ${algorithm}`);
    const timeMs = clock();
    return {
      kind: 'mock',
      provider: name,
      isQualified: false,
      qualification: notQualified('mock_provider'),
      issuedAt: new Date(timeMs).toISOString(),
      token: issueMockToken(await key(), { tokenId, hash: digest, timeMs, tier }),
    };
  }
  // The key is in the store. If the store is down, nobody is blamed.
  const blame = (error: unknown) =>
    error instanceof TierUnavailableError ? 'caller' : error instanceof ServiceError ? 'nobody' : 'provider';
  const stampTelling = (tell: OnCall) => (subject: StampSubject) => record.call(() => make(subject), blame, tell);
  return {
    name,
    isQualified: false,
    stamp: stampTelling(onCall ?? (() => undefined)),
    checkQualified: async () => undefined,
    check: () => checkProvider({ name, stamp: stampTelling(() => undefined) }, clock),
    readHealth: (): ProviderHealth[] => [{ ...record.read(), qualification: { basis: null, reason: 'mock_provider' } }],
  };
}
