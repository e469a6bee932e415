/**
 * Renews the evidence that is due, as the workers do once a day, and says what was done. May be interrupted, and run again, at any time. The settings are
 * those of the workers; `RENEW_BEFORE_DAYS` says what is due.
 */
import { ServiceError } from '../src/shared/domain/service-error.ts';
import { systemClock } from '../src/shared/runtime/clock.ts';
import { ConfigError, loadConfig } from '../src/shared/runtime/config.ts';
import { loadOrExit } from '../src/shared/runtime/lifecycle.ts';
import { createLogger } from '../src/shared/runtime/log.ts';
import { openStore } from '../src/shared/store/store.ts';
import { createTokenJudge } from '../src/shared/trust/judge.ts';
import { canServeQualified, loadTrustSettings } from '../src/shared/trust/trusted-providers.ts';
import { openTsas } from '../src/workers/providers/open-provider.ts';
import { createProviderPool } from '../src/workers/providers/pool.ts';
import { ProviderError } from '../src/workers/providers/provider.ts';
import { createRenewProcessor } from '../src/workers/renewal/renewal-job.ts';

const deadlineMs = 60_000;
const dayMs = 86_400_000;

const { config, trust, log, tsas } = loadOrExit(() => {
  const config = loadConfig(process.env);
  const trust = loadTrustSettings(config);
  if (trust.providers.length === 0) throw new ConfigError('TSP: got mock; evidence is renewed by a TSA, so it takes local or file');
  const log = createLogger({ level: config.LOG_LEVEL, process: 'renew', destination: process.stderr });
  return { config, trust, log, tsas: openTsas(trust.providers, { clock: systemClock, log }) };
});
const store = openStore(config, log);
const renew = createRenewProcessor({
  ...store,
  provider: createProviderPool({ providers: tsas, deadlineMs, clock: systemClock, log, keepBatch: store.batches.insertOnce }),
  tokenJudge: createTokenJudge({ trust, mockKey: () => store.keys.secret('mock-provider'), clock: systemClock }),
  servesQualified: canServeQualified(trust),
  renewBeforeMs: config.RENEW_BEFORE_DAYS * dayMs,
  isByCommand: true,
  clock: systemClock,
  log,
});

try {
  const { renewed, lapsed, asks, due, unknown } = await renew();
  console.log(`${renewed} renewed with ${asks} requests, ${due} still due, ${lapsed} found to have ended`);
  if (unknown > 0) console.log(`${unknown} cannot be judged, perhaps for want of a trust anchor, and are not renewed`);
} catch (error) {
  if (!(error instanceof ServiceError) && !(error instanceof ProviderError)) throw error;
  console.error(`${error.message} What was renewed until now stays so; run this again.`);
  process.exitCode = 1;
} finally {
  for (const tsa of tsas) tsa.close();
  await store.close();
}
