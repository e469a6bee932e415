import { issueResponse } from '../../../shared/rfc3161/index.ts';
import type { Logger } from '../../../shared/runtime/log.ts';
import { randomSerial } from '../../../shared/runtime/random-octets.ts';
import type { KeyProviderSettings } from '../../../shared/trust/providers-file.ts';
import type { TrustedProvider } from '../../../shared/trust/trusted-providers.ts';
import { createRfc3161Provider, type Listings, type Rfc3161Provider } from '../rfc3161.ts';
import { type ClockWatch, uncheckedClock, watchClock } from './clock-watch.ts';
import { type LocalTime, systemTime } from './local-time.ts';
import { openSigningKey } from './signing-key.ts';
import { askTimeServer } from './sntp.ts';

function openClock({ name, clock }: KeyProviderSettings, time: LocalTime, log: Logger): ClockWatch {
  if (clock === undefined || clock === 'unchecked') return uncheckedClock;
  const { ntp: servers, maxDriftMs } = clock;
  return watchClock({ provider: name, servers, maxDriftMs, time, askServer: (server, ms) => askTimeServer(server, time, ms), log });
}

interface KeyProvider extends Rfc3161Provider {
  readonly clockWatch: ClockWatch;
}

/**
 * Opens a TSA in this process that signs with a key of ours. Its tokens are verified like those of other TSAs.
 *
 * @throws ConfigError if the key or its certificates are not suitable for time-stamps
 */
export async function openKeyProvider(
  { settings, trust }: TrustedProvider & { readonly settings: KeyProviderSettings },
  { listings, log, time = systemTime }: { listings: Listings; log: Logger; time?: LocalTime },
): Promise<KeyProvider> {
  const profile = await openSigningKey(settings, trust, time.wall());
  const clockWatch = openClock(settings, time, log);
  const ask = async (tsq: Buffer) => {
    await clockWatch.confirm();
    return issueResponse(profile, tsq, { timeMs: time.wall(), serial: randomSerial() });
  };
  const client = { ask, close: clockWatch.close };
  const provider = createRfc3161Provider({ settings, trust, client, listings, clock: time.wall });
  // The provider itself, because some of its members are computed when they are read.
  return Object.assign(provider, { clockWatch, readClock: clockWatch.read });
}
