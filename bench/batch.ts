/** `npm run bench -- batch`: stamps a second in requests of 64 items (L1) beside requests for one each. */
import { newMasterKey } from '../scripts/stack/master-key.ts';
import { withStack } from '../scripts/stack/stack.ts';
import type { LoadResult } from './load.ts';
import { median } from './rate.ts';
import { ours, underLoad } from './under-load.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const seconds = Number(process.env.BENCH_SECONDS ?? 5);
const items = Number(process.env.BENCH_ITEMS ?? 64);

const one = { hash: 'a'.repeat(64) };
const contenders = [
  { name: 'one each, 16 connections', path: '/api/v1/internal/v1/stamp', body: one, connections: 16, status: 201, stamps: 1 },
  { name: 'one each, 256 connections', path: '/api/v1/internal/v1/stamp', body: one, connections: 256, status: 201, stamps: 1 },
  {
    name: `${items} each, 16 connections`,
    path: '/api/v1/internal/v1/stamps',
    body: Array.from({ length: items }, () => one),
    connections: 16,
    status: 200,
    stamps: items,
  },
];

await withStack(
  AbortSignal.timeout(20 * 60_000),
  async ({ redisUrl, mongoUrl }) => {
    const servers = { REDIS_URL: redisUrl, MONGODB_URL: mongoUrl, MASTER_KEY: newMasterKey() };
    const environment = { ...process.env, PORT: '0', LOG_LEVEL: 'error', ...servers };
    const results = new Map<string, LoadResult[]>(contenders.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const { name, stamps: _, ...request } of contenders) {
        results.get(name)?.push(await underLoad({ processes: ours, environment, seconds, ...request }));
      }
    }
    const rateOf = (name: string, stamps: number) => stamps * median((results.get(name) ?? []).map(({ perSecond }) => perSecond));
    console.log(`\nmedian of ${rounds} rounds of ${seconds} s, in turn`);
    console.table(
      contenders.map(({ name, stamps }) => {
        const runs = results.get(name) ?? [];
        return {
          requests: name,
          'stamps/s': Math.round(rateOf(name, stamps)),
          'p50 ms': Number(median(runs.map(({ p50Ms }) => p50Ms)).toFixed(2)),
          'p99 ms': Number(median(runs.map(({ p99Ms }) => p99Ms)).toFixed(2)),
          'of one each, 16': (rateOf(name, stamps) / rateOf('one each, 16 connections', 1)).toFixed(2),
          'of one each, 256': (rateOf(name, stamps) / rateOf('one each, 256 connections', 1)).toFixed(2),
          failed: runs.reduce((sum, { failed }) => sum + failed, 0),
        };
      }),
    );
  },
  { durable: true },
);
