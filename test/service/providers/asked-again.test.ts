import { expect, test } from 'vitest';
import { createLogger } from '../../../src/shared/runtime/log.ts';
import { createListIndex } from '../../../src/shared/trust/lists/index.ts';
import { loadTrustSettings } from '../../../src/shared/trust/trusted-providers.ts';
import { createListings, openTsas } from '../../../src/workers/providers/open-provider.ts';
import { TierUnavailableError } from '../../../src/workers/providers/provider.ts';
import { patience } from '../../support/pace.ts';
import { randomHash } from '../../support/requests.ts';
import { providersSettings, startTsa } from '../../support/tsa-service.ts';

const minuteMs = 60_000;

test('a provider whose last token was not qualified is asked again for qualified stamps after five minutes', async () => {
  const { TSP_PROVIDERS_FILE } = providersSettings([{ tsa: await startTsa(), qualified: 'from_list' }]);
  const trust = loadTrustSettings({
    TSP: 'file',
    TSP_PROVIDERS_FILE,
    TRUST_ANCHORS_FILE: undefined,
    TRUSTED_LISTS_FILE: 'lists.json',
    IGNORE_CA_PURPOSES: false,
  });
  let now = Date.now();
  const lists = createListIndex([]);
  const [tsa] = await openTsas(trust.providers, {
    clock: () => now,
    listings: createListings(() => lists),
    log: createLogger({ level: 'silent', process: 'worker' }),
  });
  const imprint = { algorithm: 'sha256' as const, digest: randomHash() };
  expect(tsa!.mayBeQualified).toBe(true);
  const asked = tsa!.stamp({ tokenId: 'x', imprint, tier: 'basic', requiresQualified: true }, AbortSignal.timeout(patience(5_000)));
  await expect(asked).rejects.toThrow(TierUnavailableError);
  now += 4 * minuteMs;
  expect(tsa!.mayBeQualified).toBe(false);
  now += 2 * minuteMs;
  expect([tsa!.mayBeQualified, tsa!.isQualified]).toEqual([true, false]);
});
