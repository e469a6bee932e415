import { ConfigError, loadConfig } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { systemClock } from '../shared/runtime/timers.ts';
import { openStore } from '../shared/store/store.ts';
import type { ListInForce } from '../shared/store/trusted-lists.ts';
import { loadListSources, usesTrustedLists } from '../shared/trust/list-sources.ts';
import { refreshTrustedLists } from '../workers/trusted-lists/index.ts';
import type { Operator, OperatorExitCode } from './operator.ts';

/** Fetches and checks the trusted lists, and prints which are in force. */
export async function refreshLists({ environment, json, print }: Operator): Promise<OperatorExitCode> {
  const config = loadConfig(environment);
  if (!usesTrustedLists(config)) throw new ConfigError('TRUSTED_LIST_URLS: got nothing; set it, or TRUSTED_LISTS_FILE');
  const log = createLogger({ level: 'silent', process: 'refresh-lists' });
  const sources = loadListSources(config);
  await using opened = new AsyncDisposableStack();
  const store = opened.adopt(openStore(config, log), ({ close }) => close());
  await refreshTrustedLists(sources, { store, clock: systemClock, log });
  const lists = await store.trustedLists.readInForce();
  for (const list of lists) print(json ? `${JSON.stringify(list)}\n` : lineOf(list), list.refusal !== null);
  return lists.some(({ refusal }) => refusal !== null) ? 1 : 0;
}

function lineOf({ territory, list, refusal }: ListInForce): string {
  const inForce = list ? `no. ${list.sequenceNumber}, next update ${list.nextUpdate ?? 'none'}` : 'no list in force';
  return `${territory}  ${inForce}${refusal ? `  ${refusal.message}` : ''}\n`;
}
