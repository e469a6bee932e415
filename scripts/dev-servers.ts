/**
 * Starts Redis and MongoDB for development, prints their URLs, and runs them until Ctrl-C. Then their data is deleted.
 *
 * node scripts/bootstrap.mjs scripts/dev-servers.ts
 */
import { once } from 'node:events';
import { runScript } from './stack/interrupt.ts';
import { newMasterKey } from './stack/master-key.ts';
import { withStack } from './stack/stack.ts';

await runScript((signal) =>
  withStack(signal, async ({ redisUrl, mongoUrl }) => {
    for (const prefix of ['', 'TEST_']) {
      process.stdout.write(`export ${prefix}REDIS_URL='${redisUrl}' ${prefix}MONGODB_URL='${mongoUrl}'\n`);
    }
    process.stdout.write(`export MASTER_KEY='${newMasterKey()}'\n`);
    if (!signal.aborted) {
      const keepAlive = setInterval(() => undefined, 60_000);
      await once(signal, 'abort');
      clearInterval(keepAlive);
    }
    return 0;
  }),
);
