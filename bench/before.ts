import { resolve } from 'node:path';
import { newMasterKey } from '../scripts/stack/master-key.ts';
import { withStack } from '../scripts/stack/stack.ts';
import { measureInTurns } from './in-turns.ts';
import { load } from './load.ts';
import { ours, startProcesses } from './processes.ts';
import { startTsa } from './tsa/running.ts';

/**
 * `BENCH_BEFORE=<folder of another checkout> npm run bench -- before`: stamps per second of this checkout compared with the other, separately for
 * each way of stamping: `BENCH_WAYS=mock,direct,bulk,batched`. Both have their own databases on the same servers, use the same TSA, and get load in
 * turns. Exits with 1 if the rate is below `BENCH_WANTED` of the other rate; default 0.8.
 */

const before = process.env.BENCH_BEFORE;
const wanted = Number(process.env.BENCH_WANTED ?? 0.8);
const turns = {
  rounds: Number(process.env.BENCH_ROUNDS ?? 9),
  seconds: Number(process.env.BENCH_SECONDS ?? 3),
  warmUpSeconds: Number(process.env.BENCH_WARM_UP ?? 15),
};

const one = { path: '/api/v1/internal/v1/stamp', body: { hash: 'a'.repeat(64) }, status: 201, stamps: 1, connections: 256 };
const many = {
  path: '/api/v1/internal/v1/stamps',
  body: Array.from({ length: 64 }, () => ({ hash: 'a'.repeat(64) })),
  status: 200,
  stamps: 64,
  connections: 16,
};

/** The ways of stamping: one stamp or many in a request; the mock, a TSA for each stamp, or a TSA for many stamps at once. */
const ways = {
  mock: { ...one, tsa: undefined },
  direct: { ...one, tsa: { isAggregating: false, awayMs: 0 } },
  bulk: { ...many, tsa: undefined },
  batched: { ...many, tsa: { isAggregating: true, awayMs: 0 } },
} as const;
type Way = keyof typeof ways;
const chosen = (process.env.BENCH_WAYS ?? Object.keys(ways).join()).split(',') as Way[];

if (!before) throw new Error('BENCH_BEFORE must name the folder of another checkout');
const checkouts = [resolve(before), process.cwd()];

await withStack(
  AbortSignal.timeout(120 * 60_000),
  async ({ redisUrl, mongoUrl }) => {
    const tsa = await startTsa();
    for (const [place, name] of chosen.entries()) {
      const way = ways[name];
      const start = (checkout: string, number: number) => {
        const [redis, mongo] = [new URL(redisUrl), new URL(mongoUrl)];
        redis.pathname = `/${2 * place + number}`;
        mongo.pathname = `/bench_before_${place}_${number}`;
        const servers = { REDIS_URL: redis.href, MONGODB_URL: mongo.href, MASTER_KEY: newMasterKey() };
        const settings = tsa.settingsFor({ name, ...(way.tsa && { tsa: way.tsa }) });
        return startProcesses(ours, { ...process.env, PORT: '0', ...servers, ...settings }, { cwd: checkout });
      };
      const [other, own] = [await start(checkouts[0]!, 0), await start(checkouts[1]!, 1)];
      const measured = await measureInTurns([other, own], turns, ({ url }, seconds) =>
        load({
          url: `${url}${way.path}`,
          headers: { 'content-type': 'application/json', 'x-service-token': 'dev-service-token' },
          body: JSON.stringify(way.body),
          connections: way.connections,
          status: way.status,
          seconds,
        }),
      );
      for (const [when, service] of [['before', other] as const, ['now', own] as const]) {
        const median = (figure: 'perSecond' | 'p50Ms' | 'p99Ms') => measured.medianOf(service, (result) => result[figure]);
        const failed = measured.resultsOf(service).reduce((sum, result) => sum + result.failed, 0);
        const perSecond = (way.stamps * median('perSecond')).toFixed(0);
        console.log(
          `${name}, ${when}: ${perSecond} stamps/s, p50 ${median('p50Ms').toFixed(1)} ms, p99 ${median('p99Ms').toFixed(1)} ms, ${failed} failed`,
        );
      }
      const ratio = measured.ratio(own, other);
      console.log(`${name}, compared with before: ${ratio.toFixed(2)}, wanted ${wanted}: ${ratio >= wanted ? 'reached' : 'MISSED'}`);
      if (!(ratio >= wanted)) process.exitCode = 1;
      for (const service of [other, own]) await service.stop();
    }
    await tsa.stop();
  },
  { durable: true },
);
