/**
 * Wraps the keys in the database by `NEW_MASTER_KEY` in place of `MASTER_KEY`. What runs goes on with the keys that it has read; what starts
 * afterwards takes the new one as its `MASTER_KEY`. Running it again changes nothing.
 */
import { z } from 'zod';
import { ServiceError } from '../src/shared/domain/service-error.ts';
import { ConfigError, parseSettings, settingsSchema, withSecretFiles } from '../src/shared/runtime/config.ts';
import { loadOrExit } from '../src/shared/runtime/lifecycle.ts';
import { createLogger } from '../src/shared/runtime/log.ts';
import { connectStore } from '../src/shared/store/connection.ts';
import { rewrapKeys } from '../src/shared/store/keys.ts';

const { MONGODB_URL, MASTER_KEY, LOG_LEVEL } = settingsSchema.shape;
const schema = z.object({ MONGODB_URL, MASTER_KEY, NEW_MASTER_KEY: MASTER_KEY, LOG_LEVEL });
const config = loadOrExit(() => parseSettings(schema, withSecretFiles(process.env)));
const { db, close } = connectStore(config.MONGODB_URL, createLogger({ level: config.LOG_LEVEL, process: 'rotate' }));

try {
  const count = await rewrapKeys(db, { current: config.MASTER_KEY, next: config.NEW_MASTER_KEY });
  console.log(`${count} keys were wrapped anew; from now on MASTER_KEY is the new one`);
} catch (error) {
  if (error instanceof ConfigError) console.error(error.message);
  else if (error instanceof ServiceError) console.error(`MONGODB_URL: ${error.message} Some keys may be wrapped anew: run this again.`);
  else throw error;
  process.exitCode = 1;
} finally {
  await close();
}
