import { withStack } from '../scripts/stack/stack.ts';
import { type LoadResult, load } from './load.ts';
import { median } from './median.ts';
import { bytesPerStamp } from './tsa/bytes.ts';
import { type Contender, type RunningService, type Servers, startService, startTsa } from './tsa/running.ts';

/**
 * The cost of a TSA's stamp, requested alone and in a batch (S14), compared with the mock. The contenders get load in turns in one run, each with its
 * own database. Run: `npm run bench -- tsa`. Exits with 1 if a target is missed.
 */

const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const seconds = Number(process.env.BENCH_SECONDS ?? 5);
const connectionCounts = (process.env.BENCH_CONNECTIONS ?? '256,1').split(',').map(Number);
const warmUpSeconds = Number(process.env.BENCH_WARM_UP ?? 8);
const many = 256;
const verifyingConnections = 32;

const mock: Contender = { name: 'mock' };
const direct: Contender = { name: 'local TSA', tsa: { isAggregating: false, awayMs: 0 } };
const batched: Contender = { name: 'local TSA batched', tsa: { isAggregating: true, awayMs: 0 } };
const farDirect: Contender = { name: '20 ms away', tsa: { isAggregating: false, awayMs: 20 } };
const farBatched: Contender = { name: '20 ms away batched', tsa: { isAggregating: true, awayMs: 20 } };
const contenders = [mock, direct, batched, farDirect, farBatched];

interface Round extends LoadResult {
  readonly asksPerStamp: number;
  readonly bytesPerStamp: number;
  /** CPU time of the worker per stamp, in milliseconds. */
  readonly workerMs: number;
  /** CPU time of the API per stamp, in milliseconds. */
  readonly apiMs: number;
  /** The result for verifications by id; undefined if not measured. */
  readonly verified: (LoadResult & { readonly perCpuSecond: number }) | undefined;
}

async function verify(service: RunningService): Promise<Round['verified']> {
  const request = {
    url: service.url,
    method: 'GET',
    paths: await service.verdicts(),
    status: 200,
    connections: verifyingConnections,
  } as const;
  await load({ ...request, seconds: Math.min(3, seconds) });
  const before = service.cpuSeconds().api;
  const result = await load({ ...request, seconds });
  return { ...result, perCpuSecond: (result.perSecond * seconds) / (service.cpuSeconds().api - before) };
}

async function measure(servers: Servers, settings: NodeJS.ProcessEnv, connections: number): Promise<Round> {
  const service = await startService(servers, settings);
  const request = {
    url: `${service.url}/api/v1/internal/v1/stamp`,
    headers: { 'content-type': 'application/json', 'x-service-token': 'dev-service-token' },
    body: JSON.stringify({ hash: 'a'.repeat(64) }),
    connections,
  };
  await load({ ...request, seconds: warmUpSeconds });
  const [before, cpuBefore] = [await service.stored(), service.cpuSeconds()];
  const result = await load({ ...request, seconds });
  const [after, cpuAfter] = [await service.stored(), service.cpuSeconds()];
  const made = after.stamps - before.stamps;
  const verified = connections === many ? await verify(service) : undefined;
  await service.stop();
  return {
    ...result,
    asksPerStamp: (after.asks - before.asks) / made,
    bytesPerStamp: after.bytes / after.stamps,
    workerMs: (1_000 * (cpuAfter.worker - cpuBefore.worker)) / made,
    apiMs: (1_000 * (cpuAfter.api - cpuBefore.api)) / made,
    verified,
  };
}

const results = new Map<number, Map<Contender, Round[]>>();
const of = (connections: number, contender: Contender, figure: (round: Round) => number): number =>
  median((results.get(connections)?.get(contender) ?? []).map(figure));
const rateOf = (connections: number, contender: Contender) => of(connections, contender, ({ perSecond }) => perSecond);

function print(connections: number): void {
  console.log(`\n${connections} connection(s), median of ${rounds} rounds of ${seconds} s, contenders in turn`);
  console.table(
    contenders.map((contender) => {
      const figure = (of_: (round: Round) => number, digits: number) => Number(of(connections, contender, of_).toFixed(digits));
      return {
        contender: contender.name,
        'stamps/s': figure(({ perSecond }) => perSecond, 0),
        'of mock': Number((rateOf(connections, contender) / rateOf(connections, mock)).toFixed(2)),
        'p50 ms': figure(({ p50Ms }) => p50Ms, 2),
        'p99 ms': figure(({ p99Ms }) => p99Ms, 2),
        'asks/stamp': figure(({ asksPerStamp }) => asksPerStamp, 4),
        'bytes/stamp': figure((round) => round.bytesPerStamp, 0),
        'worker CPU ms': figure(({ workerMs }) => workerMs, 3),
        'API CPU ms': figure(({ apiMs }) => apiMs, 3),
        ...(connections === many && {
          'verified/s': figure(({ verified }) => verified?.perSecond ?? Number.NaN, 0),
          'verified/s of API CPU': figure(({ verified }) => verified?.perCpuSecond ?? Number.NaN, 0),
          'its p99 of p50': figure(({ verified }) => (verified ? verified.p99Ms / verified.p50Ms : Number.NaN), 1),
        }),
        failed: (results.get(connections)?.get(contender) ?? []).reduce(
          (sum, round) => sum + round.failed + (round.verified?.failed ?? 0),
          0,
        ),
      };
    }),
  );
}

function claim(what: string, value: number, wanted: number, isReached: boolean): void {
  console.log(`${what}: ${value.toFixed(3)}, wanted ${wanted}: ${isReached ? 'reached' : 'MISSED'}`);
  if (!isReached) process.exitCode = 1;
}
const atLeast = (what: string, value: number, wanted: number) => claim(what, value, wanted, value >= wanted);
const atMost = (what: string, value: number, wanted: number) => claim(what, value, wanted, value <= wanted);

function judge(): void {
  if (results.has(many)) {
    atLeast('batched, of the mock', rateOf(many, batched) / rateOf(many, mock), 0.7);
    atMost(
      'batched, requests per stamp',
      of(many, batched, ({ asksPerStamp }) => asksPerStamp),
      0.02,
    );
    atMost(
      'batched, p99 of p50',
      of(many, batched, ({ p99Ms, p50Ms }) => p99Ms / p50Ms),
      4,
    );
    atLeast(
      'verified batched stamps per second of CPU',
      of(many, batched, ({ verified }) => verified?.perCpuSecond ?? 0),
      1_500,
    );
  }
  if (results.has(1)) atLeast('one connection, batched of direct', rateOf(1, batched) / rateOf(1, direct), 0.95);
}

await withStack(
  AbortSignal.timeout(40 * 60_000),
  async (servers) => {
    const tsa = await startTsa();
    const minutes = (connectionCounts.length * rounds * contenders.length * (warmUpSeconds + 2 * seconds + 5)) / 60;
    console.log(`measuring ${contenders.length} contenders for about ${Math.ceil(minutes)} minutes; run nothing else meanwhile`);
    for (const connections of connectionCounts) {
      const byContender = new Map<Contender, Round[]>(contenders.map((contender) => [contender, []]));
      results.set(connections, byContender);
      for (let round = 0; round < rounds; round += 1) {
        for (const contender of contenders)
          byContender.get(contender)?.push(await measure(servers, tsa.settingsFor(contender), connections));
      }
      print(connections);
    }
    judge();
    console.log('\nbytes per stamp in the database, with indexes and the share of its batch');
    for (const leaves of [1, 64, 4_096]) {
      const bytes = await bytesPerStamp(servers.mongoUrl, leaves);
      console.log(`${leaves === 1 ? 'own token' : `batches of ${leaves}`}: ${bytes.toFixed(0)}`);
      if (leaves > 1) atMost(`bytes in batches of ${leaves}`, bytes, 1_024);
    }
    await tsa.stop();
  },
  { durable: true },
);
