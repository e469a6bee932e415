import { parseSettings, settingsSchema } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { createBatchStore } from '../shared/store/batches.ts';
import { connectStore } from '../shared/store/connection.ts';
import { createCounterStore } from '../shared/store/counters.ts';
import { createRenewalStore } from '../shared/store/renewals.ts';
import type { Operator, OperatorExitCode } from './operator.ts';

/** Counts the stamps of the hours between two times again, in milliseconds since the epoch. */
export async function recount({ environment, print }: Operator, fromMs: number, toMs: number): Promise<OperatorExitCode> {
  const { MONGODB_URL } = parseSettings(settingsSchema.pick({ MONGODB_URL: true }), environment);
  const log = createLogger({ level: 'silent', process: 'operator' });
  await using opened = new AsyncDisposableStack();
  const { db } = opened.adopt(connectStore(MONGODB_URL, log), ({ close }) => close());
  const counters = createCounterStore(db, { batches: createBatchStore(db, createRenewalStore(db)), log });
  const hours = await counters.recount(fromMs, Math.min(toMs, Date.now()));
  print(`counted the stamps of ${hours} ${hours === 1 ? 'hour' : 'hours'}\n`);
  return 0;
}
