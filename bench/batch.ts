/**
 * `npm run bench -- batch`: stamps per second in requests of 64 items (L1), with the mock and with a TSA that signs one batch for many, compared with
 * single requests. Both services run all the time and get load in turns. Only consecutive turns are compared, because a machine's speed may change
 * within minutes. With a TSA, 0.8 of the target for the mock must be reached; the ratio to the measured rate of the mock is printed too. Exits with 1
 * if a target is missed.
 */
import { newMasterKey } from '../scripts/stack/master-key.ts';
import { withStack } from '../scripts/stack/stack.ts';
import { measureInTurns } from './in-turns.ts';
import { load } from './load.ts';
import { ours, startProcesses } from './processes.ts';
import { startTsa } from './tsa/running.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 9);
const seconds = Number(process.env.BENCH_SECONDS ?? 4);
const items = Number(process.env.BENCH_ITEMS ?? 64);
const warmUpSeconds = Number(process.env.BENCH_WARM_UP ?? 12);

type Provider = 'mock' | 'batched';

interface Contender {
  readonly name: string;
  readonly provider: Provider;
  readonly path: string;
  readonly body: object;
  readonly connections: number;
  readonly status: number;
  readonly stamps: number;
}

const hash = { hash: 'a'.repeat(64) };
const one = { provider: 'mock', path: '/api/v1/internal/v1/stamp', body: hash, status: 201, stamps: 1 } as const;
const many = {
  path: '/api/v1/internal/v1/stamps',
  body: Array.from({ length: items }, () => hash),
  connections: 16,
  status: 200,
  stamps: items,
} as const;
const few: Contender = { name: 'one each, 16 connections', ...one, connections: 16 };
const crowd: Contender = { name: 'one each, 256 connections', ...one, connections: 256 };
const manyOfMock: Contender = { name: `${items} each, 16 connections`, provider: 'mock', ...many };
const manyOfTsa: Contender = { name: `${items} each, 16 connections, batched TSA`, provider: 'batched', ...many };
const contenders = [few, crowd, manyOfMock, manyOfTsa];

await withStack(
  AbortSignal.timeout(40 * 60_000),
  async ({ redisUrl, mongoUrl }) => {
    const tsa = await startTsa();
    const settingsOf: Readonly<Record<Provider, NodeJS.ProcessEnv>> = {
      mock: { TSP: 'mock' },
      batched: tsa.settingsFor({ name: 'batched', tsa: { isAggregating: true, awayMs: 0 } }),
    };
    const start = (provider: Provider, redisDatabase: number) => {
      const mongo = new URL(mongoUrl);
      mongo.pathname = `/bench_${provider}`;
      const servers = { REDIS_URL: `${redisUrl.replace(/\/$/, '')}/${redisDatabase}`, MONGODB_URL: mongo.href, MASTER_KEY: newMasterKey() };
      return startProcesses(ours, { ...process.env, PORT: '0', ...servers, ...settingsOf[provider] });
    };
    const services = { mock: await start('mock', 1), batched: await start('batched', 2) };
    const measured = await measureInTurns(
      contenders,
      { rounds, seconds, warmUpSeconds },
      ({ provider, path, body, connections, status }, loadSeconds) =>
        load({
          url: `${services[provider].url}${path}`,
          headers: { 'content-type': 'application/json', 'x-service-token': 'dev-service-token' },
          body: JSON.stringify(body),
          connections,
          status,
          seconds: loadSeconds,
        }),
    );
    await Promise.all(Object.values(services).map(({ stop }) => stop()));
    await tsa.stop();

    /** The ratio of stamps per second. The measurement counts requests, so it is multiplied by the stamps in each request. */
    const ratio = (contender: Contender, other: Contender) => (measured.ratio(contender, other) * contender.stamps) / other.stamps;
    console.log(`\nmedian of ${rounds} rounds of ${seconds} s, both services running, under load in turns`);
    console.table(
      contenders.map((contender) => ({
        requests: contender.name,
        'stamps/s': Math.round(contender.stamps * measured.medianOf(contender, ({ perSecond }) => perSecond)),
        'p50 ms': Number(measured.medianOf(contender, ({ p50Ms }) => p50Ms).toFixed(2)),
        'p99 ms': Number(measured.medianOf(contender, ({ p99Ms }) => p99Ms).toFixed(2)),
        'of one each, 16': ratio(contender, few).toFixed(2),
        'of one each, 256': ratio(contender, crowd).toFixed(2),
        failed: measured.resultsOf(contender).reduce((sum, { failed }) => sum + failed, 0),
      })),
    );
    const claims: readonly (readonly [string, number, number])[] = [
      ['many at once, compared with single requests on 16 connections', ratio(manyOfMock, few), 2.5],
      ['many at once, compared with single requests on 256 connections', ratio(manyOfMock, crowd), 2],
      ['a batched TSA, compared with single requests on 16 connections', ratio(manyOfTsa, few), 0.8 * 2.5],
      ['a batched TSA, compared with single requests on 256 connections', ratio(manyOfTsa, crowd), 0.8 * 2],
    ];
    for (const [what, reached, wanted] of claims) {
      console.log(`${what}: ${reached.toFixed(2)}, wanted ${wanted}: ${reached >= wanted ? 'reached' : 'MISSED'}`);
      if (reached < wanted) process.exitCode = 1;
    }
    console.log(`a batched TSA, compared with the mock: ${ratio(manyOfTsa, manyOfMock).toFixed(2)}`);
  },
  { durable: true },
);
