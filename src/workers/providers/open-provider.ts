import type { KeyObject } from 'node:crypto';
import type { ProviderHealth } from '../../shared/queue/heartbeat.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Config } from '../../shared/runtime/config.ts';
import type { Logger } from '../../shared/runtime/log.ts';
import type { TrustSettings } from '../../shared/trust/trusted-providers.ts';
import { readCredentials } from './credentials.ts';
import { type OnCall, withHealthRecord } from './health.ts';
import { createMockProvider } from './mock.ts';
import { createProviderPool } from './pool.ts';
import type { TimestampProvider } from './provider.ts';
import { createRfc3161Provider } from './rfc3161.ts';
import { createTsaClient } from './tsa-client.ts';

/** What a worker stamps with, as configured. */
export interface OpenedProvider {
  readonly provider: TimestampProvider;
  health(): ProviderHealth[];
  close(): void;
}

/** All providers together must have answered before the caller stops to wait (E9 before E11). */
const deadlineMsOf = (stampWaitMs: number): number => Math.max(1_000, Math.floor(stampWaitMs * 0.8));

/** How often providers that fail are asked whether they are back; an open breaker lets none of it through. */
const probeEveryMs = 5_000;

/** The mock provider, or the pool of the providers file. */
export function openProvider(deps: {
  config: Config;
  trust: TrustSettings;
  mockKey: () => Promise<KeyObject>;
  clock: Clock;
  log: Logger;
  onCall?: OnCall;
}): OpenedProvider {
  const { config, trust, mockKey, clock, log, onCall } = deps;
  if (config.TSP === 'mock') {
    const { provider, record } = withHealthRecord(createMockProvider({ key: mockKey, clock }), clock, onCall);
    return { provider, health: () => [record.read()], close: () => undefined };
  }
  const providers = trust.providers.map(({ settings, trust: store }) =>
    createRfc3161Provider({
      settings,
      trust: store,
      client: createTsaClient({ url: settings.url, maxConcurrent: settings.maxConcurrent, credentials: readCredentials(settings) }),
      clock,
    }),
  );
  const pool = createProviderPool({ providers, deadlineMs: deadlineMsOf(config.STAMP_WAIT_MS), clock, log, ...(onCall && { onCall }) });
  const probing = setInterval(() => void pool.probe(), probeEveryMs);
  const close = () => {
    clearInterval(probing);
    pool.close();
  };
  return { provider: pool, health: pool.health, close };
}
