import { newMasterKey } from '../scripts/stack/master-key.ts';
import { withStack } from '../scripts/stack/stack.ts';
import type { LoadResult } from './load.ts';
import { median } from './rate.ts';
import { ours, underLoad, warmUpSeconds } from './under-load.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const seconds = Number(process.env.BENCH_SECONDS ?? 5);
const connectionCounts = (process.env.BENCH_CONNECTIONS ?? '1,256').split(',').map(Number);

interface Contender {
  readonly name: string;
  readonly processes: readonly string[];
  readonly settings?: NodeJS.ProcessEnv;
  /** `always` unless told: a batch is acknowledged once it is on the disk. */
  readonly sync?: 'everysec';
}

const plain = ['bench/contenders/plain-worker.ts', 'bench/contenders/plain-api.ts'];

const contenders: readonly Contender[] = [
  { name: 'bare Fastify route', processes: ['bench/contenders/bare.ts'] },
  { name: 'plain BullMQ round trip', processes: plain },
  { name: 'plain, counting in rows', processes: plain, settings: { PLAIN_COUNTS: 'rows' } },
  { name: 'plain, counting as qstamp', processes: plain, settings: { PLAIN_COUNTS: 'ledger' } },
  { name: 'qstamp', processes: ours },
  { name: 'qstamp, sync each second', processes: ours, sync: 'everysec' },
];

const measure = ({ processes, settings, sync }: Contender, environment: NodeJS.ProcessEnv, connections: number): Promise<LoadResult> =>
  underLoad({
    processes,
    environment: { ...environment, ...settings },
    path: '/api/v1/internal/v1/stamp',
    body: { hash: 'a'.repeat(64) },
    connections,
    seconds,
    ...(sync && { sync }),
  });

await withStack(
  AbortSignal.timeout(60 * 60_000),
  async ({ redisUrl, mongoUrl }) => {
    const servers = { REDIS_URL: redisUrl, MONGODB_URL: mongoUrl, MASTER_KEY: newMasterKey() };
    const environment = { ...process.env, PORT: '0', LOG_LEVEL: 'error', ...servers };
    const minutes = (connectionCounts.length * rounds * contenders.length * (warmUpSeconds + seconds)) / 60;
    console.log(`measuring ${contenders.length} contenders for about ${Math.ceil(minutes)} minutes; run nothing else meanwhile`);
    for (const connections of connectionCounts) {
      const results = new Map<string, LoadResult[]>(contenders.map(({ name }) => [name, []]));
      for (let round = 0; round < rounds; round += 1) {
        for (const contender of contenders) results.get(contender.name)?.push(await measure(contender, environment, connections));
      }
      const rate = (name: string) => median((results.get(name) ?? []).map(({ perSecond }) => perSecond));
      console.log(`\n${connections} connection(s), median of ${rounds} rounds of ${seconds} s, contenders in turn`);
      console.table(
        contenders.map(({ name }) => {
          const runs = results.get(name) ?? [];
          return {
            contender: name,
            'stamps/s': Math.round(rate(name)),
            'p50 ms': Number(median(runs.map(({ p50Ms }) => p50Ms)).toFixed(2)),
            'p99 ms': Number(median(runs.map(({ p99Ms }) => p99Ms)).toFixed(2)),
            'of bare': (rate(name) / rate('bare Fastify route')).toFixed(2),
            'of plain': (rate(name) / rate('plain BullMQ round trip')).toFixed(2),
            'of rows': (rate(name) / rate('plain, counting in rows')).toFixed(2),
            'of ledger': (rate(name) / rate('plain, counting as qstamp')).toFixed(2),
            failed: runs.reduce((sum, { failed }) => sum + failed, 0),
          };
        }),
      );
      const price = rate('qstamp') / rate('qstamp, sync each second');
      console.log(`a promise that survives a crash of Redis (appendfsync always) leaves ${price.toFixed(2)} of the stamps a second`);
    }
  },
  { durable: true },
);
