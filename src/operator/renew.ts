import { ServiceError } from '../shared/domain/service-error.ts';
import { ConfigError, loadConfig } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { systemClock } from '../shared/runtime/timers.ts';
import { openStore } from '../shared/store/store.ts';
import { noLists, readListsInForce } from '../shared/store/trusted-lists.ts';
import { createTokenJudge } from '../shared/trust/judge.ts';
import { usesTrustedLists } from '../shared/trust/list-sources.ts';
import { loadTrustSettings } from '../shared/trust/trusted-providers.ts';
import { createListings, createProviderPool, openTsas, ProviderError } from '../workers/providers/index.ts';
import { runRenewal } from '../workers/renewal/index.ts';
import { connectNotes } from './check-providers.ts';
import type { Operator, OperatorExitCode } from './operator.ts';

const deadlineMs = 60_000;

/** Renews the evidence that is due. It may be interrupted and run again at any time. */
export async function renew({ environment, print, stderr }: Operator): Promise<OperatorExitCode> {
  const config = loadConfig(environment);
  const trust = loadTrustSettings(config);
  if (trust.providers.length === 0) throw new ConfigError('TSP: got mock; only a TSA can renew evidence, so set local or file');
  const clock = systemClock;
  const log = createLogger({ level: config.LOG_LEVEL, process: 'renew', destination: stderr });
  await using opened = new AsyncDisposableStack();
  const notes = await connectNotes(opened, trust.providers, config, log);
  const store = opened.adopt(openStore(config, log), ({ close }) => close());
  try {
    const index = usesTrustedLists(config) ? await readListsInForce(store.trustedLists) : noLists.current();
    const lists = () => index;
    const providers = await openTsas(trust.providers, { notes, listings: createListings(lists, store.listings.insertOnce), clock, log });
    const pool = createProviderPool({ providers, deadlineMs, notes, clock, log, keepBatch: store.batches.insertOnce });
    const provider = opened.adopt(pool, ({ close }) => close());
    const tokenJudge = createTokenJudge({ trust, lists, mockKey: () => store.keys.secret('mock-provider'), clock });
    const tools = { config, trust, store, provider, tokenJudge, clock, log };
    const { renewed, lapsed, asks, due, unknown } = await runRenewal(tools, { isByCommand: true });
    print(`${renewed} renewed with ${asks} requests, ${due} still due, ${lapsed} found to have ended\n`);
    if (unknown > 0) print(`${unknown} not renewed: they cannot be verified, perhaps because a trust anchor is missing\n`, true);
    return 0;
  } catch (error) {
    if (!(error instanceof ServiceError) && !(error instanceof ProviderError)) throw error;
    stderr.write(`qstamp: ${error.message} Evidence renewed so far stays renewed. Run this again.\n`);
    return 1;
  }
}
