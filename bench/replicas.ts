/** `npm run bench -- replicas`: the price of REDIS_REPLICAS_ACK=1. Both services use one Redis with a replica on this machine, and get load in turns. */
import { newMasterKey } from '../scripts/stack/master-key.ts';
import { withStack } from '../scripts/stack/stack.ts';
import { openRedisLab, startPair } from '../test/support/redis-lab.ts';
import { measureInTurns } from './in-turns.ts';
import { load } from './load.ts';
import { ours, startProcesses } from './processes.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 3);
const warmUpSeconds = Number(process.env.BENCH_WARM_UP ?? 10);

await withStack(
  AbortSignal.timeout(30 * 60_000),
  async ({ mongoUrl }) => {
    const lab = await openRedisLab();
    const pair = await startPair(lab);
    const start = async (replicas: number) => {
      const mongo = new URL(mongoUrl);
      mongo.pathname = `/bench_replicas_${replicas}`;
      const settings = { ...pair.settings, REDIS_REPLICAS_ACK: String(replicas), REDIS_KEY_PREFIX: `bench-${replicas}` };
      return startProcesses(ours, { ...process.env, PORT: '0', ...settings, MONGODB_URL: mongo.href, MASTER_KEY: newMasterKey() });
    };
    const [without, confirmed] = [await start(0), await start(1)];
    for (const connections of [1, 256]) {
      const measured = await measureInTurns([without, confirmed], { rounds, seconds, warmUpSeconds }, ({ url }, loadSeconds) =>
        load({
          url: `${url}/api/v1/internal/v1/stamp`,
          headers: { 'content-type': 'application/json', 'x-service-token': 'dev-service-token' },
          body: JSON.stringify({ hash: 'a'.repeat(64) }),
          connections,
          seconds: loadSeconds,
        }),
      );
      console.log(`\n${connections} connection(s), median of ${rounds} rounds of ${seconds} s, under load in turns`);
      console.table(
        [without, confirmed].map((service, replicas) => ({
          REDIS_REPLICAS_ACK: replicas,
          'stamps/s': Math.round(measured.medianOf(service, ({ perSecond }) => perSecond)),
          'p50 ms': Number(measured.medianOf(service, ({ p50Ms }) => p50Ms).toFixed(2)),
          'p99 ms': Number(measured.medianOf(service, ({ p99Ms }) => p99Ms).toFixed(2)),
          failed: measured.resultsOf(service).reduce((sum, { failed }) => sum + failed, 0),
        })),
      );
      console.log(`surviving a failover of Redis leaves ${measured.ratio(confirmed, without).toFixed(2)} of the stamps per second`);
    }
    await Promise.all([without.stop(), confirmed.stop()]);
    pair.close();
    await lab.dispose();
  },
  { durable: true },
);
