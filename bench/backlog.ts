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
import { countEntering, jobIdOf, readBacklog } from '../src/shared/queue/backlog.ts';
import { connectProducer, connectWorker, disconnect, untilReady } from '../src/shared/queue/connection.ts';
import { openQueue } from '../src/shared/queue/open-queue.ts';
import { type StampItem, type StampJob, stampQueueName } from '../src/shared/queue/stamp-job.ts';
import { createStampQueue } from '../src/shared/queue/stamp-queue.ts';
import { start, stop } from './processes.ts';
import { median } from './rate.ts';

const depths = [100, Number(process.env.BENCH_WAITING ?? 1_000_000)] as const;
const drained = Number(process.env.BENCH_DRAINED ?? 200_000);
const workers = 4;
const maxDepth = 10_000_000;

const log = pino({ level: 'silent' });
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
      opts: { jobId: jobIdOf(randomUUIDv7(), 1) },
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
  const seconds = 8;
  const before = await used();
  await delay(seconds * 1_000);
  const after = await used();
  const percent = (name: 'api' | 'redis') => (100 * (after[name] - before[name])) / seconds;
  return { api: percent('api'), redis: percent('redis') };
}

async function measureAt(depth: number, environment: NodeJS.ProcessEnv): Promise<Record<string, string>> {
  await fill(environment.REDIS_URL ?? '', depth);
  const redis = await connect(environment.REDIS_URL ?? '');
  const api = await start('src/api/main.ts', environment);
  const url = `${api.url}/api/v1/status`;
  await fetch(url);
  const rest = await restOf(redis, api.child.pid ?? 0);
  const { queue: shown } = (await (await fetch(url)).json()) as { queue: { depth: number } };
  const figures: number[] = [];
  for (let run = 0; run < 5; run += 1) {
    // Figures are kept for two seconds.
    await delay(2_100);
    figures.push(...(await timesOf(1, async () => (await fetch(url)).text())));
  }
  const queue = createStampQueue({ redis, replyTo: 'nobody', maxDepth, log });
  await timesOf(200, () => queue.accept(item(), () => true));
  const accepts = await timesOf(1_000, () => queue.accept(item(), () => true));
  await queue.close();
  const looks = await timesOf(200, () => readBacklog(redis));
  await stop(api);
  await disconnect(redis);
  const at = (times: readonly number[], share: number) => (times[Math.floor(times.length * share)] ?? Number.NaN).toFixed(2);
  return {
    'shown on /status': String(shown.depth),
    'accept p50 ms': at(accepts, 0.5),
    'accept p99 ms': at(accepts, 0.99),
    'look at the depth p50 ms': at(looks, 0.5),
    'look at the depth p99 ms': at(looks, 0.99),
    'GET /api/v1/status p50 ms': median(figures).toFixed(1),
    'API at rest, % of a core': rest.api.toFixed(1),
    'Redis at rest, % of a core': rest.redis.toFixed(1),
  };
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
  const running = await Promise.all(Array.from({ length: workers }, () => start('src/workers/main.ts', environment)));
  while ((await readBacklog(redis)).waiting > 0 || (await stamps.estimatedDocumentCount()) < drained) {
    if (performance.now() - workStartedAt > 600_000) break;
    await delay(200);
  }
  const drainedIn = (performance.now() - workStartedAt) / 1_000;
  await Promise.all(running.map(stop));

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
    const columns = new Map<string, Record<string, string>>();
    for (const depth of depths) columns.set(`${depth} waiting`, await measureAt(depth, environment));
    const rows = Object.keys(columns.values().next().value ?? {});
    console.table(
      Object.fromEntries(rows.map((row) => [row, Object.fromEntries([...columns].map(([name, column]) => [name, column[row]]))])),
    );
    console.table(await drain(environment));
  },
  { durable: true },
);
