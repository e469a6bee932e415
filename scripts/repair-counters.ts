import { ServiceError } from '../src/shared/domain/service-error.ts';
import { systemClock } from '../src/shared/runtime/clock.ts';
import { parseSettings, settingsSchema, withSecretFiles } from '../src/shared/runtime/config.ts';
import { loadOrExit } from '../src/shared/runtime/lifecycle.ts';
import { createLogger } from '../src/shared/runtime/log.ts';
import { createBatchStore } from '../src/shared/store/batches.ts';
import { createCertificateSetStore } from '../src/shared/store/certificate-sets.ts';
import { connectStore } from '../src/shared/store/connection.ts';
import { createCounterStore, tallyOfRecord } from '../src/shared/store/counters.ts';
import { createRenewalStore } from '../src/shared/store/renewals.ts';
import { createStampDirectory } from '../src/shared/store/stamp-directory.ts';
import { createStampStore } from '../src/shared/store/stamps.ts';

/** Counts the stamps again, puts the counters right, and drops the marks of the directory, which workers make again. Stop the workers first: what they write meanwhile is not counted. */
const config = loadOrExit(() => parseSettings(settingsSchema.pick({ MONGODB_URL: true, LOG_LEVEL: true }), withSecretFiles(process.env)));
const { db, close } = connectStore(config.MONGODB_URL, createLogger({ level: config.LOG_LEVEL, process: 'repair' }));
const directory = createStampDirectory(db, systemClock);
const renewals = createRenewalStore(db);
let seen = 0;

async function* tallies() {
  for await (const stamp of createStampStore(
    db,
    directory,
    createBatchStore(db, renewals),
    renewals,
    createCertificateSetStore(db),
  ).scan()) {
    seen += 1;
    if (seen % 10_000 === 0) console.log(`${seen} stamps counted`);
    yield tallyOfRecord(stamp);
  }
}

try {
  await directory.forget();
  await createCounterStore(db).repair(tallies(), Date.now());
  console.log(`${seen} stamps counted; the counters are right again`);
} catch (error) {
  if (!(error instanceof ServiceError)) throw error;
  console.error(`MONGODB_URL: ${error.message} The counters may be half repaired: run this again.`);
  process.exitCode = 1;
} finally {
  await close();
}
