import { z } from 'zod';
import { ServiceError } from '../shared/domain/service-error.ts';
import { parseSettings, settingsSchema } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { connectStore } from '../shared/store/connection.ts';
import { rewrapKeys } from '../shared/store/keys.ts';
import { type OperatorCommand, type OperatorExitCode, runOperatorCommand, UsageError } from './operator-command.ts';

const usage = `qstamp rotate-master-key: encrypts the keys in the database with NEW_MASTER_KEY

  --quiet   only problems
  --help

NEW_MASTER_KEY replaces MASTER_KEY. Running processes continue with the keys that they have read.
Processes that start later need the new key as MASTER_KEY. Running it again changes nothing.
Settings: MONGODB_URL, MASTER_KEY, NEW_MASTER_KEY. Exit codes: 0 done, 1 the store does not answer,
2 usage or settings.
`;

const { MONGODB_URL, MASTER_KEY, LOG_LEVEL } = settingsSchema.shape;
const schema = z.object({ MONGODB_URL, MASTER_KEY, NEW_MASTER_KEY: MASTER_KEY, LOG_LEVEL });

/** Runs `qstamp rotate-master-key`. Resolves with the exit code. */
export const rotateMasterKey = (command: OperatorCommand): Promise<OperatorExitCode> =>
  runOperatorCommand(command, usage, async ({ operands, json, all, print }) => {
    if (operands.length > 0 || json || all) throw new UsageError('rotate-master-key takes no operand');
    const config = parseSettings(schema, command.environment);
    const log = createLogger({ level: config.LOG_LEVEL, process: 'rotate', destination: command.stderr });
    const { db, close } = connectStore(config.MONGODB_URL, log);
    try {
      const count = await rewrapKeys(db, { current: config.MASTER_KEY, next: config.NEW_MASTER_KEY });
      print(`${count} keys were encrypted again; from now on, set MASTER_KEY to the new key\n`);
      return 0;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      command.stderr.write(`qstamp: MONGODB_URL: ${error.message} Some keys may be encrypted again already. Run this again.\n`);
      return 1;
    } finally {
      await close();
    }
  });
