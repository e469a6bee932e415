import { parseSettings, settingsSchema } from '../shared/runtime/config.ts';
import { createLogger } from '../shared/runtime/log.ts';
import { createBatchStore } from '../shared/store/batches.ts';
import { connectStore } from '../shared/store/connection.ts';
import { createCounterStore } from '../shared/store/counters.ts';
import { createRenewalStore } from '../shared/store/renewals.ts';
import { type OperatorCommand, type OperatorExitCode, runOperatorCommand, UsageError } from './operator-command.ts';

const usage = `qstamp recount FROM TO: counts the stamps of some hours again, from the stamps themselves

  FROM, TO  times such as 2026-11-24T18:00Z or 2026-11-24 (UTC); every hour between is counted again
  --quiet   only problems
  --help

The service itself recounts each hour after it ends. Failures and latencies do not change.
Settings: MONGODB_URL. Exit codes: 0 done, 1 the store does not answer, 2 usage or settings.
`;

const takenTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z)?$/;

function parseTime(name: string, text: string | undefined): number {
  const timeMs = text !== undefined && takenTime.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(timeMs)) throw new UsageError(`recount: ${name} takes a time such as 2026-11-24T18:00Z or 2026-11-24`);
  return timeMs;
}

/** Runs `qstamp recount FROM TO`. Resolves with the exit code. */
export const recount = (command: OperatorCommand): Promise<OperatorExitCode> =>
  runOperatorCommand(command, usage, async ({ operands: [from, to, ...others], json, all, print }) => {
    if (others.length > 0 || json || all) throw new UsageError('recount takes two times');
    const [fromMs, toMs] = [parseTime('FROM', from), parseTime('TO', to)];
    if (fromMs >= toMs) throw new UsageError('recount: FROM is not before TO');
    const { MONGODB_URL } = parseSettings(settingsSchema.pick({ MONGODB_URL: true }), command.environment);
    const log = createLogger({ level: 'silent', process: 'operator' });
    const { db, close } = connectStore(MONGODB_URL, log);
    try {
      const hours = await createCounterStore(db, { batches: createBatchStore(db, createRenewalStore(db)), log }).recount(
        fromMs,
        Math.min(toMs, Date.now()),
      );
      print(`counted the stamps of ${hours} ${hours === 1 ? 'hour' : 'hours'}\n`);
      return 0;
    } finally {
      await close();
    }
  });
