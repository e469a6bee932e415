import { resolve } from 'node:path';
import { z } from 'zod';
import { developmentPolicy } from '../shared/domain/qualification.ts';
import { parseSettings, settingsSchema } from '../shared/runtime/config.ts';
import { runProcessWith } from '../shared/runtime/lifecycle.ts';
import { systemClock } from '../shared/runtime/timers.ts';
import { KEY_ALGORITHMS } from './certificate.ts';
import { createTsaServer } from './server.ts';
import { openTsaState, writeProvidersFile } from './state.ts';

/** Settings of the development TSA. */
const tsaSettingsSchema = z.object({
  HOST: settingsSchema.shape.HOST,
  PORT: settingsSchema.shape.PORT.unwrap().default(0),
  LOG_LEVEL: settingsSchema.shape.LOG_LEVEL,
  /** The folder with its keys and its root. Keep it: the root is needed to verify the stamps of this TSA. */
  TSA_STATE_DIR: z.string().min(1).default('.local/tsa'),
  /** The URL for clients, if it differs from the URL on which the TSA listens. */
  TSA_URL: z.url({ protocol: /^http$/, error: 'takes an address that starts with http://' }).optional(),
  TSA_KEY: z.enum(KEY_ALGORITHMS, `takes ${KEY_ALGORITHMS.join(', ')}`).default('p-256'),
  /** Whether the providers file that it writes contains `aggregate`. */
  TSA_AGGREGATE: z.enum(['0', '1'], 'takes 0 or 1').default('0'),
});

await runProcessWith(
  'tsa',
  () => parseSettings(tsaSettingsSchema, process.env),
  async ({ config, log, lifecycle }) => {
    const dir = resolve(config.TSA_STATE_DIR);
    const pki = await openTsaState(dir, config.TSA_KEY, systemClock());
    const tsa = createTsaServer({ pki, clock: systemClock, log });
    const listening = await tsa.listen(config.HOST, config.PORT);
    const url = config.TSA_URL || listening;
    lifecycle.onClose('http', () => tsa.close());
    return {
      url,
      providersFile: await writeProvidersFile(dir, { url, policy: developmentPolicy, isAggregating: config.TSA_AGGREGATE === '1' }),
      rootFile: pki.rootFile,
      crlFile: pki.crlFile,
    };
  },
);
