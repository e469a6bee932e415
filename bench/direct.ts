import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { newMasterKey } from '../scripts/stack/master-key.ts';
import { withStack } from '../scripts/stack/stack.ts';
import { measureInTurns } from './in-turns.ts';
import { load } from './load.ts';
import { ours, startProcesses } from './processes.ts';

/**
 * `BENCH_BEFORE=<folder of another checkout> npm run bench -- direct`: stamps of the development TSA, each with a token of its own, made by
 * this tree and by the other one. Each has its own TSA, asked as its own providers file says, and its own databases on the same servers, and they
 * are under load in turns. Exits 1 below `BENCH_WANTED` of the other's rate, default 2.
 */

const before = process.env.BENCH_BEFORE;
const wanted = Number(process.env.BENCH_WANTED ?? 2);
const turns = {
  rounds: Number(process.env.BENCH_ROUNDS ?? 15),
  seconds: Number(process.env.BENCH_SECONDS ?? 4),
  warmUpSeconds: Number(process.env.BENCH_WARM_UP ?? 20),
};
const connections = Number(process.env.BENCH_CONNECTIONS ?? 256);

/** A TSA, a worker and an API of a checkout. `number`: of its databases. */
async function start(checkout: string, number: number, servers: { redisUrl: string; mongoUrl: string }) {
  const state = mkdtempSync(join(tmpdir(), 'qstamp-bench-direct-'));
  const environment = { ...process.env, PORT: '0', LOG_LEVEL: 'error' };
  const tsa = await startProcesses(['src/tsa/main.ts'], { ...environment, TSA_STATE_DIR: state }, checkout);
  const [redis, mongo] = [new URL(servers.redisUrl), new URL(servers.mongoUrl)];
  redis.pathname = `/${number}`;
  mongo.pathname = `/bench_direct_${number}`;
  const urls = { REDIS_URL: redis.href, MONGODB_URL: mongo.href, MASTER_KEY: newMasterKey() };
  const provider = { TSP: 'file', TSP_PROVIDERS_FILE: join(state, 'providers.json') };
  const service = await startProcesses(ours, { ...environment, ...urls, ...provider }, checkout);
  return {
    url: service.url,
    stop: async () => {
      await service.stop();
      await tsa.stop();
      rmSync(state, { recursive: true });
    },
  };
}

if (!before) throw new Error('BENCH_BEFORE names no folder of another checkout');

await withStack(
  AbortSignal.timeout(60 * 60_000),
  async (servers) => {
    const running = await Promise.all([resolve(before), process.cwd()].map((checkout, i) => start(checkout, i, servers)));
    const [other, own] = running;
    const measured = await measureInTurns(running, turns, ({ url }, seconds) =>
      load({
        url: `${url}/api/v1/internal/v1/stamp`,
        headers: { 'content-type': 'application/json', 'x-service-token': 'dev-service-token' },
        body: JSON.stringify({ hash: 'a'.repeat(64) }),
        connections,
        seconds,
      }),
    );
    for (const [name, service] of [['before', other!] as const, ['now', own!] as const]) {
      const figure = (of_: 'perSecond' | 'p50Ms' | 'p99Ms') => measured.medianOf(service, (result) => result[of_]).toFixed(0);
      const failed = measured.resultsOf(service).reduce((sum, result) => sum + result.failed, 0);
      console.log(`${name}: ${figure('perSecond')} stamps/s, p50 ${figure('p50Ms')} ms, p99 ${figure('p99Ms')} ms, ${failed} failed`);
    }
    const ratio = measured.ratio(own!, other!);
    console.log(`direct stamps, of those before: ${ratio.toFixed(2)}, wanted ${wanted}: ${ratio >= wanted ? 'reached' : 'MISSED'}`);
    if (!(ratio >= wanted)) process.exitCode = 1;
    for (const service of running) await service.stop();
  },
  { durable: true },
);
