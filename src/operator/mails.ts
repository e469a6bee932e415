import { recipientHash } from '../shared/domain/recipient.ts';
import { loadConfig } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { openStore } from '../shared/store/store.ts';
import type { Operator, OperatorExitCode } from './operator.ts';

/** Says whether a recipient has stopped the mails, and may let them go again. */
export async function mails({ environment, print }: Operator, action: 'blocked' | 'allow', address: string): Promise<OperatorExitCode> {
  const log = createLogger({ level: 'silent', process: 'operator' });
  await using opened = new AsyncDisposableStack();
  const store = opened.adopt(openStore(loadConfig(environment), log), ({ close }) => close());
  // With a wrong master key, no key is made.
  await store.keys.open();
  const hash = recipientHash(await store.keys.secret('recipients'), address);
  const at = await store.blockedRecipients.blockedAt(hash);
  if (at && action === 'allow') await store.blockedRecipients.allow(hash);
  const said = action === 'allow' ? 'mails may go to it again' : `its owner stopped the mails on ${at?.toISOString()}`;
  print(at ? `${address}: ${said}\n` : `${address}: not blocked\n`);
  return at ? 0 : 1;
}
