/**
 * `npm run bench -- batch`: stamps a second in requests of 64 items (L1), of the mock and of a TSA that is asked once for many (S14), beside
 * requests for one each. Exits 1 when a figure is missed.
 */
import { newMasterKey } from '../scripts/stack/master-key.ts';
import { withStack } from '../scripts/stack/stack.ts';
import type { LoadResult } from './load.ts';
import { median } from './rate.ts';
import { startTsa } from './tsa/running.ts';
import { ours, underLoad } from './under-load.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const seconds = Number(process.env.BENCH_SECONDS ?? 5);
const items = Number(process.env.BENCH_ITEMS ?? 64);

interface Contender {
  readonly name: string;
  readonly path: string;
  readonly body: object;
  readonly connections: number;
  readonly status: number;
  readonly stamps: number;
  /** The mock makes them unless told. */
  readonly isOfTsa?: boolean;
}

const one = { hash: 'a'.repeat(64) };
const many = `${items} each, 16 connections`;
const manyOfTsa = `${items} each, 16 connections, batched TSA`;
const manyEach = {
  path: '/api/v1/internal/v1/stamps',
  body: Array.from({ length: items }, () => one),
  connections: 16,
  status: 200,
  stamps: items,
};
const contenders: readonly Contender[] = [
  { name: 'one each, 16 connections', path: '/api/v1/internal/v1/stamp', body: one, connections: 16, status: 201, stamps: 1 },
  { name: 'one each, 256 connections', path: '/api/v1/internal/v1/stamp', body: one, connections: 256, status: 201, stamps: 1 },
  { name: many, ...manyEach },
  { name: manyOfTsa, ...manyEach, isOfTsa: true },
];

await withStack(
  AbortSignal.timeout(40 * 60_000),
  async ({ redisUrl, mongoUrl }) => {
    const servers = { REDIS_URL: redisUrl, MONGODB_URL: mongoUrl, MASTER_KEY: newMasterKey() };
    const environment = { ...process.env, PORT: '0', LOG_LEVEL: 'error', ...servers };
    const tsa = await startTsa();
    const ofTsa = tsa.settingsFor({ name: 'batched', tsa: { isAggregating: true, awayMs: 0 } });
    const results = new Map<string, LoadResult[]>(contenders.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const { name, stamps: _, isOfTsa, ...request } of contenders) {
        const settings = { ...environment, ...(isOfTsa && ofTsa) };
        results.get(name)?.push(await underLoad({ processes: ours, environment: settings, seconds, ...request }));
      }
    }
    await tsa.stop();
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
    const claims: readonly (readonly [string, number, number])[] = [
      ['many at once, of one each on 16 connections', rateOf(many, items) / rateOf('one each, 16 connections', 1), 2.5],
      ['many at once, of one each on 256 connections', rateOf(many, items) / rateOf('one each, 256 connections', 1), 2],
      ['a batched TSA, of the mock', rateOf(manyOfTsa, items) / rateOf(many, items), 0.8],
    ];
    for (const [what, reached, wanted] of claims) {
      console.log(`${what}: ${reached.toFixed(2)}, wanted ${wanted}: ${reached >= wanted ? 'reached' : 'MISSED'}`);
      if (reached < wanted) process.exitCode = 1;
    }
  },
  { durable: true },
);
