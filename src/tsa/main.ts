import { resolve } from 'node:path';
import { z } from 'zod';
import { developmentPolicy } from '../shared/domain/qualification.ts';
import { issueResponse } from '../shared/rfc3161/index.ts';
import { parseSettings, settingsSchema } from '../shared/runtime/config.ts';
import { runProcess } from '../shared/runtime/lifecycle.ts';
import { randomSerial } from '../shared/runtime/random-octets.ts';
import { systemClock } from '../shared/runtime/timers.ts';
import { KEY_ALGORITHMS } from './pki.ts';
import { createTsaServer, profileOf, REPLY_TYPE, send } from './server.ts';
import { openTsaState, writeProvidersFile } from './state.ts';

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

await runProcess(
  'tsa',
  () => parseSettings(tsaSettingsSchema, process.env),
  async ({ config, log, lifecycle }) => {
    const dir = resolve(config.TSA_STATE_DIR);
    const pki = await openTsaState(dir, config.TSA_KEY, systemClock());
    const profile = profileOf(pki);
    const tsa = createTsaServer((query, response) => {
      const reply = issueResponse(profile, query, { timeMs: systemClock(), serial: randomSerial() });
      log.info({ queryOctets: query.length, replyOctets: reply.length }, 'answered');
      send(response, 200, REPLY_TYPE, reply);
    }, log);
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
