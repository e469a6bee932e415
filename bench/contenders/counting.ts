import { answerWithin } from '../../src/shared/runtime/answer-within.ts';
import { createLogger } from '../../src/shared/runtime/log.ts';
import { connectStore } from '../../src/shared/store/connection.ts';
import { createCounterStore, type StampTally } from '../../src/shared/store/counters.ts';
import type { Counted } from '../counting.ts';

/** A process that counts one stamp after the other: in a ledger of its own, as a worker does, or, with `shared`, in a row that all processes share. */
const [way, seconds] = [process.argv[2], Number(process.argv[3] ?? 5)];
const { db, close } = connectStore(process.env.MONGODB_URL ?? '', createLogger({ level: 'error', process: 'bench' }));
const counters = createCounterStore(db);
const shared = db.collection<{ _id: string; stamps: number }>('shared');

const tally = (): StampTally => ({
  finishedAt: Date.now(),
  provider: 'mock',
  isQualified: false,
  callerKind: 'internal',
  product: 'bench',
  outcome: 'stamped',
  latencyMs: 1,
});

async function count(): Promise<Counted> {
  const times: number[] = [];
  const endsAt = performance.now() + seconds * 1_000;
  for (let at = performance.now(); at < endsAt; at = performance.now()) {
    if (way === 'shared') await shared.updateOne({ _id: 'row' }, { $inc: { stamps: 1 } }, { upsert: true });
    else await counters.add([{ tallies: [tally()] }]);
    times.push(performance.now() - at);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN;
  return { batches: times.length, p50Ms: at(0.5), p99Ms: at(0.99) };
}

const total = async () => (way === 'shared' ? ((await shared.findOne({ _id: 'row' }))?.stamps ?? 0) : counters.productTotal('bench'));
process.on('message', async (asked) => process.send?.(asked === 'count' ? await count() : await total()));
process.once('disconnect', close);
// With many processes at once some wait longer for their connection than one operation may.
for (let isConnected = false; !isConnected; )
  isConnected = (await answerWithin(10_000, () => counters.productTotal('bench'))) !== undefined;
process.send?.('ready');
