import { recipientHash } from '../shared/domain/recipient.ts';
import { loadConfig } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { openStore } from '../shared/store/store.ts';
import { type OperatorCommand, type OperatorExitCode, runOperatorCommand, UsageError } from './operator-command.ts';

const usage = `qstamp mails: the recipients who have stopped the mails of this service

  mails blocked ADDRESS   says whether the owner of this address has stopped the mails
  mails allow ADDRESS     lets mails go to this address again, at the request of its owner
  --quiet                 only the exit code
  --help

The service stores no address, only a keyed hash. The settings are those of the service. Exit codes:
0 done, 1 the address is not blocked, or the store does not answer, 2 usage or settings.
`;

/** Runs `qstamp mails blocked | allow`. Resolves with the exit code. */
export const mails = (command: OperatorCommand): Promise<OperatorExitCode> =>
  runOperatorCommand(command, usage, async ({ operands: [action, address, ...others], json, all, print }) => {
    const isKnown = action === 'blocked' || action === 'allow';
    if (!isKnown || !address?.includes('@') || others.length > 0 || json || all)
      throw new UsageError('mails takes blocked or allow, and one e-mail address');
    const config = loadConfig(command.environment);
    const store = openStore(config, createLogger({ level: 'silent', process: 'operator' }));
    try {
      // With a wrong master key, no key is made.
      await store.keys.open();
      const hash = recipientHash(await store.keys.secret('recipients'), address);
      const at = await store.blockedRecipients.blockedAt(hash);
      if (at && action === 'allow') await store.blockedRecipients.allow(hash);
      const said = action === 'allow' ? 'mails may go to it again' : `its owner stopped the mails on ${at?.toISOString()}`;
      print(at ? `${address}: ${said}\n` : `${address}: not blocked\n`);
      return at ? 0 : 1;
    } finally {
      await store.close();
    }
  });
