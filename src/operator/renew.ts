import { ServiceError } from '../shared/domain/service-error.ts';
import { ConfigError, loadConfig } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { systemClock } from '../shared/runtime/timers.ts';
import { openStore } from '../shared/store/store.ts';
import { noLists, readListsInForce } from '../shared/store/trusted-lists.ts';
import { createTokenJudge } from '../shared/trust/judge.ts';
import { usesTrustedLists } from '../shared/trust/list-sources.ts';
import { loadTrustSettings } from '../shared/trust/trusted-providers.ts';
import { createListings, createProviderPool, openTsas, ProviderError, type ProviderPool } from '../workers/providers/index.ts';
import { runRenewal } from '../workers/renewal/index.ts';
import { withProviderNotes } from './check-providers.ts';
import { type OperatorCommand, type OperatorExitCode, runOperatorCommand, UsageError } from './operator-command.ts';

const usage = `qstamp renew: renews the evidence that is due, like the workers once a day, and prints a summary

  --quiet   only problems
  --help

You may interrupt it and run it again at any time. The settings are those of the workers;
RENEW_BEFORE_DAYS decides what is due. Exit codes: 0 done, 1 a TSA or the store does not answer,
2 usage or settings.
`;

const deadlineMs = 60_000;

/** Runs `qstamp renew`. Resolves with the exit code. */
export const renew = (command: OperatorCommand): Promise<OperatorExitCode> =>
  runOperatorCommand(command, usage, async ({ operands, json, all, print }) => {
    if (operands.length > 0 || json || all) throw new UsageError('renew takes no operand');
    const { environment, stderr } = command;
    const config = loadConfig(environment);
    const trust = loadTrustSettings(config);
    if (trust.providers.length === 0) throw new ConfigError('TSP: got mock; only a TSA can renew evidence, so set local or file');
    const log = createLogger({ level: config.LOG_LEVEL, process: 'renew', destination: stderr });
    return withProviderNotes({ providers: trust.providers, redisUrl: config.REDIS_URL, log }, async (notes) => {
      const store = openStore(config, log);
      let provider: ProviderPool | undefined;
      try {
        const index = usesTrustedLists(config) ? await readListsInForce(store.trustedLists) : noLists.current();
        const lists = () => index;
        const listings = createListings(lists, store.listings.insertOnce);
        const providers = await openTsas(trust.providers, { notes, listings, clock: systemClock, log });
        const keepBatch = store.batches.insertOnce;
        provider = createProviderPool({ providers, deadlineMs, notes, clock: systemClock, log, keepBatch });
        const mockKey = () => store.keys.secret('mock-provider');
        const tokenJudge = createTokenJudge({ trust, lists, mockKey, clock: systemClock });
        const tools = { config, trust, store, provider, tokenJudge, clock: systemClock, log };
        const { renewed, lapsed, asks, due, unknown } = await runRenewal(tools, { isByCommand: true });
        print(`${renewed} renewed with ${asks} requests, ${due} still due, ${lapsed} found to have ended\n`);
        if (unknown > 0) print(`${unknown} not renewed: they cannot be verified, perhaps because a trust anchor is missing\n`, true);
        return 0;
      } catch (error) {
        if (!(error instanceof ServiceError) && !(error instanceof ProviderError)) throw error;
        stderr.write(`qstamp: ${error.message} Evidence renewed so far stays renewed. Run this again.\n`);
        return 1;
      } finally {
        provider?.close();
        await store.close();
      }
    });
  });
