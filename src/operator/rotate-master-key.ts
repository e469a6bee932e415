import { z } from 'zod';
import { ServiceError } from '../shared/domain/service-error.ts';
import { parseSettings, settingsSchema } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { connectStore } from '../shared/store/connection.ts';
import { rewrapKeys } from '../shared/store/keys.ts';
import type { Operator, OperatorExitCode } from './operator.ts';

const { MONGODB_URL, MASTER_KEY, LOG_LEVEL } = settingsSchema.shape;
const schema = z.object({ MONGODB_URL, MASTER_KEY, NEW_MASTER_KEY: MASTER_KEY, LOG_LEVEL });

/** Encrypts the keys in the database with NEW_MASTER_KEY. */
export async function rotateMasterKey({ environment, print, stderr }: Operator): Promise<OperatorExitCode> {
  const config = parseSettings(schema, environment);
  await using opened = new AsyncDisposableStack();
  const log = createLogger({ level: config.LOG_LEVEL, process: 'rotate', destination: stderr });
  const { db } = opened.adopt(connectStore(config.MONGODB_URL, log), ({ close }) => close());
  const count = await rewrapKeys(db, { current: config.MASTER_KEY, next: config.NEW_MASTER_KEY }).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    throw new ServiceError(error.code, `${error.message} Some keys may be encrypted again already. Run this again.`);
  });
  print(`${count} keys were encrypted again; from now on, set MASTER_KEY to the new key\n`);
  return 0;
}
