/**
 * `npm run bench`: the cost of a stamp compared with a bare route and with a typical use of BullMQ, with one connection and with many. All three run
 * all the time, each with its own databases, and get load in turns. Exits with 1 if a target is missed.
 */
import { Redis } from 'ioredis';
import { newMasterKey } from '../scripts/stack/master-key.ts';
import { withStack } from '../scripts/stack/stack.ts';
import { measureInTurns } from './in-turns.ts';
import { load } from './load.ts';
import { ours, startProcesses } from './processes.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 9);
const seconds = Number(process.env.BENCH_SECONDS ?? 3);
const warmUpSeconds = Number(process.env.BENCH_WARM_UP ?? 15);
const connectionCounts = (process.env.BENCH_CONNECTIONS ?? '1,256').split(',').map(Number);
const many = 256;

interface Kind {
  readonly name: string;
  readonly processes: readonly string[];
}

interface Contender {
  readonly name: string;
  readonly kind: Kind;
  readonly sync: 'always' | 'everysec';
}

const bare: Kind = { name: 'bare Fastify route', processes: ['bench/contenders/bare.ts'] };
const plain: Kind = {
  name: 'plain BullMQ round trip',
  processes: ['bench/contenders/plain-worker.ts', 'bench/contenders/plain-api.ts'],
};
const qstamp: Kind = { name: 'qstamp', processes: ours };
const kinds = [bare, plain, qstamp];

const contenders = kinds.map((kind): Contender => ({ name: kind.name, kind, sync: 'always' }));
const contenderOf = (kind: Kind): Contender => contenders[kinds.indexOf(kind)]!;
const us = contenderOf(qstamp);
const syncedLazily: Contender = { ...us, name: 'qstamp, sync each second', sync: 'everysec' };
const all = [...contenders, syncedLazily];

function claim(what: string, reached: number, wanted: number, isReached: boolean): void {
  console.log(`${what}: ${reached.toFixed(2)}, wanted ${wanted}: ${isReached ? 'reached' : 'MISSED'}`);
  if (!isReached) process.exitCode = 1;
}

await withStack(
  AbortSignal.timeout(60 * 60_000),
  async ({ redisUrl, mongoUrl }) => {
    const redis = new Redis(redisUrl);
    const running = new Map<Kind, Awaited<ReturnType<typeof startProcesses>>>();
    for (const [index, kind] of kinds.entries()) {
      const mongo = new URL(mongoUrl);
      mongo.pathname = `/bench_${index}`;
      const servers = { REDIS_URL: `${redisUrl.replace(/\/$/, '')}/${index}`, MONGODB_URL: mongo.href, MASTER_KEY: newMasterKey() };
      running.set(kind, await startProcesses(kind.processes, { ...process.env, PORT: '0', ...servers }));
    }
    const minutes = (connectionCounts.length * all.length * (warmUpSeconds + rounds * (seconds + 1))) / 60;
    console.log(`measuring ${all.length} contenders for about ${Math.ceil(minutes)} minutes; run nothing else meanwhile`);
    for (const connections of connectionCounts) {
      const measured = await measureInTurns(all, { rounds, seconds, warmUpSeconds }, async ({ kind, sync }, loadSeconds) => {
        await redis.config('SET', 'appendfsync', sync);
        return load({
          url: `${running.get(kind)?.url}/api/v1/internal/v1/stamp`,
          headers: { 'content-type': 'application/json', 'x-service-token': 'dev-service-token' },
          body: JSON.stringify({ hash: 'a'.repeat(64) }),
          connections,
          seconds: loadSeconds,
        });
      });
      const of = (contender: Contender, kind: Kind) => measured.ratio(contender, contenderOf(kind));
      console.log(`\n${connections} connection(s), median of ${rounds} rounds of ${seconds} s, all running, under load in turns`);
      console.table(
        all.map((contender) => ({
          contender: contender.name,
          'stamps/s': Math.round(measured.medianOf(contender, ({ perSecond }) => perSecond)),
          'p50 ms': Number(measured.medianOf(contender, ({ p50Ms }) => p50Ms).toFixed(2)),
          'p99 ms': Number(measured.medianOf(contender, ({ p99Ms }) => p99Ms).toFixed(2)),
          'of bare': of(contender, bare).toFixed(2),
          'of plain': of(contender, plain).toFixed(2),
          failed: measured.resultsOf(contender).reduce((sum, { failed }) => sum + failed, 0),
        })),
      );
      console.log(
        `surviving a crash of Redis (appendfsync always) leaves ${measured.ratio(us, syncedLazily).toFixed(2)} of the stamps per second`,
      );
      if (connections === 1) claim('alone, of plain', of(us, plain), 1, of(us, plain) >= 1);
      if (connections === many) {
        claim('of bare', of(us, bare), 0.22, of(us, bare) >= 0.22);
        claim('of plain', of(us, plain), 11, of(us, plain) >= 11);
        const tail = measured.medianOf(us, ({ p99Ms, p50Ms }) => p99Ms / p50Ms);
        claim('p99 of p50', tail, 4, tail <= 4);
      }
    }
    await Promise.all([...running.values()].map(({ stop }) => stop()));
    redis.disconnect();
  },
  { durable: true },
);
