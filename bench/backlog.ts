/**
 * What a backlog costs. First, what the API does with 100 and with 1 000 000 stamps waiting, one in each job, which is the most that has to
 * be looked at. Then 200 000 are accepted without a worker, and four drain them.
 */
import { randomBytes, randomUUID, randomUUIDv7 } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { pino } from 'pino';
import { newMasterKey } from '../scripts/stack/master-key.ts';
import { withStack } from '../scripts/stack/stack.ts';
import { countEntering, createJobIds, readBacklog } from '../src/shared/queue/backlog.ts';
import { connectProducer, connectWorker, disconnect, untilReady } from '../src/shared/queue/connection.ts';
import { openQueue } from '../src/shared/queue/open-queue.ts';
import { type StampItem, type StampJob, stampQueueName } from '../src/shared/queue/stamp-job.ts';
import { createStampQueue } from '../src/shared/queue/stamp-queue.ts';
import { startProcesses } from './processes.ts';
import { median } from './rate.ts';

const depths = [100, Number(process.env.BENCH_WAITING ?? 1_000_000)] as const;
const drained = Number(process.env.BENCH_DRAINED ?? 200_000);
const workers = 4;
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const maxDepth = 10_000_000;

const log = pino({ level: 'silent' });
const nextJobId = createJobIds();
const database = 'bench_backlog';
const ticksPerSecond = 100;

const item = (): StampItem => ({
  tokenId: randomUUIDv7(),
  imprint: { algorithm: 'sha256', digest: randomBytes(32).toString('hex') },
  tier: 'basic',
  caller: { kind: 'internal', product: 'dev' },
  acceptedAt: Date.now(),
  requestId: randomUUID(),
});

async function connect(url: string): Promise<Redis> {
  const redis = connectProducer(url, log);
  await untilReady(redis);
  return redis;
}

/** Puts jobs of one stamp into the queue until `count` wait. */
async function fill(url: string, count: number): Promise<void> {
  const redis = connectWorker(url, log);
  const queue = openQueue<StampJob>(stampQueueName, { redis, log, retryKind: 'stamp', removeOnFail: true });
  for (let missing = count - (await readBacklog(redis)).waiting; missing > 0; missing -= 500) {
    const jobs = Array.from({ length: Math.min(500, missing) }, () => ({
      name: 'stamp',
      data: { replyTo: 'nobody', items: [item()] },
      opts: { jobId: nextJobId(1) },
    }));
    await queue.addBulk(jobs);
    await Promise.all(jobs.map(({ opts }) => countEntering(redis, opts.jobId)));
  }
  await queue.close();
  await disconnect(redis);
}

async function timesOf(runs: number, work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const startedAt = performance.now();
    await work();
    times.push(performance.now() - startedAt);
  }
  return times.sort((a, b) => a - b);
}

/** Seconds of CPU that a process has used so far (proc(5), fields 14 and 15 of `stat`). */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

const infoOf = async (redis: Redis, section: string, name: string): Promise<number> =>
  Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(await redis.info(section))?.[1]);

/** Percent of one core that the API and Redis use while nobody asks for anything. */
async function restOf(redis: Redis, pid: number): Promise<{ api: number; redis: number }> {
  const used = async () => ({
    api: cpuOf(pid),
    redis: (await infoOf(redis, 'cpu', 'used_cpu_user')) + (await infoOf(redis, 'cpu', 'used_cpu_sys')),
  });
  const seconds = 5;
  const before = await used();
  await delay(seconds * 1_000);
  const after = await used();
  const percent = (name: 'api' | 'redis') => (100 * (after[name] - before[name])) / seconds;
  return { api: percent('api'), redis: percent('redis') };
}

type Figures = Readonly<Record<string, number>>;

async function measureAt(depth: number, environment: NodeJS.ProcessEnv): Promise<Figures> {
  const url = environment.REDIS_URL ?? '';
  const redis = await connect(url);
  // What the last round accepted here would make a hundred a thousand.
  if (depth < 10_000) await redis.flushdb();
  await fill(url, depth);
  const api = await startProcesses(['src/api/main.ts'], environment);
  const rest = await restOf(redis, api.pids[0] ?? 0);
  const readStatus = async () => (await (await fetch(`${api.url}/api/v1/status`)).json()) as { queue: { depth: number } };
  const statuses: number[] = [];
  for (let run = 0; run < 3; run += 1) {
    // Figures are kept for two seconds.
    await delay(2_100);
    statuses.push(...(await timesOf(1, readStatus)));
  }
  const { queue: shown } = await readStatus();
  await redis.config('RESETSTAT');
  const looks = await timesOf(200, () => readBacklog(redis));
  const [, lookUs] = /^cmdstat_eval:.*usec_per_call=([\d.]+)/m.exec(await redis.info('commandstats')) ?? [];
  const queue = createStampQueue({ redis, replyTo: 'nobody', maxDepth, log });
  await timesOf(100, () => queue.accept(item(), () => true));
  const accepts = await timesOf(500, () => queue.accept(item(), () => true));
  await queue.close();
  await api.stop();
  await disconnect(redis);
  const at = (times: readonly number[], share: number) => times[Math.floor(times.length * share)] ?? Number.NaN;
  return {
    'shown on /status': shown.depth,
    'accept p50 ms': at(accepts, 0.5),
    'accept p99 ms': at(accepts, 0.99),
    'a look at the depth p50 ms': at(looks, 0.5),
    'a look at the depth, in Redis µs': Number(lookUs),
    'GET /api/v1/status p50 ms': median(statuses),
    'API at rest, % of a core': rest.api,
    'Redis at rest, % of a core': rest.redis,
  };
}

/** The same at both depths in turn, so that the columns compare on a busy machine too. */
async function compareDepths(redisUrl: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const runs = new Map<number, Figures[]>(depths.map((depth) => [depth, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [database, depth] of depths.entries())
      runs.get(depth)?.push(await measureAt(depth, { ...environment, REDIS_URL: `${redisUrl}/${database + 1}` }));
  }
  const rows = Object.keys(runs.get(depths[0])?.[0] ?? {});
  const middle = (depth: number, row: string) => Number(median((runs.get(depth) ?? []).map((run) => run[row] ?? Number.NaN)).toFixed(2));
  const columns = (row: string) => Object.fromEntries(depths.map((depth) => [`${depth} waiting`, middle(depth, row)]));
  console.log(`median of ${rounds} rounds, both depths in turn`);
  console.table(Object.fromEntries(rows.map((row) => [row, columns(row)])));
}

async function drain(environment: NodeJS.ProcessEnv): Promise<Record<string, string>> {
  const redis = connectWorker(environment.REDIS_URL ?? '', log);
  await redis.flushall();
  const before = await infoOf(redis, 'memory', 'used_memory');
  const queue = createStampQueue({ redis, replyTo: 'nobody', maxDepth, log });
  const ids = new Set<string>();
  const startedAt = performance.now();
  while (ids.size < drained) {
    const items = Array.from({ length: Math.min(1_000, drained - ids.size) }, item);
    for (const { tokenId } of items) ids.add(tokenId);
    await Promise.all(items.map((each) => queue.accept(each, () => true)));
  }
  const acceptedIn = (performance.now() - startedAt) / 1_000;
  const bytes = (await infoOf(redis, 'memory', 'used_memory')) - before;
  const { waiting } = await readBacklog(redis);
  await queue.close();

  const client = await MongoClient.connect(environment.MONGODB_URL ?? '');
  const stamps = client.db(database).collection<{ _id: string; imprint: { digest: string } }>('stamps');
  const workStartedAt = performance.now();
  const running = await startProcesses(Array(workers).fill('src/workers/main.ts'), environment);
  while ((await readBacklog(redis)).waiting > 0 || (await stamps.estimatedDocumentCount()) < drained) {
    if (performance.now() - workStartedAt > 600_000) break;
    await delay(200);
  }
  const drainedIn = (performance.now() - workStartedAt) / 1_000;
  await running.stop();

  const digests = new Map<string, number>();
  for await (const { _id, imprint } of stamps.find({}, { projection: { 'imprint.digest': 1 } })) {
    ids.delete(_id);
    digests.set(imprint.digest, (digests.get(imprint.digest) ?? 0) + 1);
  }
  const left = (await readBacklog(redis)).waiting;
  await client.close();
  await disconnect(redis);
  return {
    'accepted without a worker': `${drained} in ${acceptedIn.toFixed(1)} s`,
    'shown as waiting': String(waiting),
    'Redis bytes a stamp': (bytes / drained).toFixed(0),
    [`drained by ${workers} workers in s`]: drainedIn.toFixed(1),
    lost: String(ids.size),
    doubled: String([...digests.values()].filter((times) => times > 1).length),
    'left in the queue': String(left),
  };
}

await withStack(
  AbortSignal.timeout(30 * 60_000),
  async ({ redisUrl, mongoUrl }) => {
    const mongo = new URL(mongoUrl);
    mongo.pathname = `/${database}`;
    const servers = { REDIS_URL: redisUrl, MONGODB_URL: mongo.href, MASTER_KEY: newMasterKey() };
    const environment = { ...process.env, PORT: '0', LOG_LEVEL: 'error', QUEUE_MAX_DEPTH: String(maxDepth), ...servers };
    await compareDepths(redisUrl, environment);
    console.table(await drain(environment));
  },
  { durable: true },
);
