import { ConfigError, loadConfig } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { systemClock } from '../shared/runtime/timers.ts';
import { openStore } from '../shared/store/store.ts';
import type { ListInForce } from '../shared/store/trusted-lists.ts';
import { loadListSources, usesTrustedLists } from '../shared/trust/list-sources.ts';
import { refreshTrustedLists } from '../workers/trusted-lists/index.ts';
import { type OperatorCommand, type OperatorExitCode, runOperatorCommand, UsageError } from './operator-command.ts';

const usage = `qstamp refresh-lists: fetches and checks the trusted lists now, like the workers every six hours

  --json    one line of JSON for each list
  --quiet   only problems
  --help

Prints which list of each country is in force. The settings are those of the workers: MONGODB_URL,
LOTL_SIGNERS_FILE, TRUSTED_LIST_URLS, TRUSTED_LISTS_FILE. Exit codes: 0 done, 1 a list is refused or
cannot be fetched, or the store does not answer, 2 usage or settings.
`;

function lineOf({ territory, list, refusal }: ListInForce): string {
  const inForce = list ? `no. ${list.sequenceNumber}, next update ${list.nextUpdate ?? 'none'}` : 'no list in force';
  return `${territory}  ${inForce}${refusal ? `  ${refusal.message}` : ''}\n`;
}

/** Runs `qstamp refresh-lists`. Resolves with the exit code. */
export const refreshLists = (command: OperatorCommand): Promise<OperatorExitCode> =>
  runOperatorCommand(command, usage, async ({ operands, json, all, print }) => {
    if (operands.length > 0 || all) throw new UsageError('refresh-lists takes no operand');
    const config = loadConfig(command.environment);
    if (!usesTrustedLists(config)) throw new ConfigError('TRUSTED_LIST_URLS: got nothing; set it, or TRUSTED_LISTS_FILE');
    const log = createLogger({ level: 'silent', process: 'refresh-lists' });
    const sources = loadListSources(config);
    const store = openStore(config, log);
    try {
      await refreshTrustedLists(sources, { store, clock: systemClock, log });
      const lists = await store.trustedLists.readInForce();
      for (const list of lists) print(json ? `${JSON.stringify(list)}\n` : lineOf(list), list.refusal !== null);
      return lists.some(({ refusal }) => refusal !== null) ? 1 : 0;
    } finally {
      await store.close();
    }
  });
