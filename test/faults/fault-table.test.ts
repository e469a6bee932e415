import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isFaults } from '../support/depth.ts';
import { eventually } from '../support/eventually.ts';
import { breakableMongo, type FaultFigures, runFault } from '../support/fault-run.ts';
import { prepareFreezing } from '../support/freezing.ts';
import { type MovedClocks, prepareMovedClocks } from '../support/moved-clock.ts';
import { refusedAtOnce, untilRefused } from '../support/refusals.ts';
import { randomHash, stampInternal } from '../support/requests.ts';
import { freshDatabase, type PrivateServer, startPrivateRedis } from '../support/servers.ts';
import { type Service, type ServiceProcess, startProcesses } from '../support/service.ts';
import { startRedisOnSlowableDisk } from '../support/slow-disk.ts';

/** The newest worker is the one that is killed and replaced. */
const newest = (service: Service<ServiceProcess>): ServiceProcess => service.workers.at(-1) as ServiceProcess;

type Happen = () => Promise<unknown>;
/** `gate`: also in `npm test`. `more`: figures that this fault leaves at zero, besides those of every fault. */
type Fault = readonly [name: string, runs: 'gate' | '', more: object, happen: Happen];
/** Stamps that were not yet counted are missing until the hour is recounted. */
const uncounts = {};
const counts = { miscounted: 0 };

let redis: PrivateServer;
/** How long a sync of the Redis disk takes, milliseconds; only in `npm run test:faults`. */
let slowDown: (syncMs: number) => void;
let mongo: PrivateServer;
let service: Service<ServiceProcess>;
/** Only in `npm run test:faults`. */
let clocks: MovedClocks | undefined;
const freezing = prepareFreezing();
const figures: FaultFigures[] = [];

async function freeze(ms: number): Promise<void> {
  await redis.pause();
  await delay(ms);
  await redis.resume();
}

const stamp = () => stampInternal(service, { hash: randomHash() });
const untilStamped = () => eventually(async () => (await stamp()).status === 201);

/** Once it is noticed that Redis hangs, no request waits for it. */
async function freezeUntilNoticed(): Promise<void> {
  await redis.pause();
  await untilRefused(service);
  await Promise.all(Array.from({ length: 50 }, () => refusedAtOnce(stamp)));
  await redis.resume();
}

async function freezeThrice(): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    await freeze(900);
    await untilStamped();
  }
}

async function fill(): Promise<void> {
  const client = new Redis(redis.url);
  await client.config('SET', 'maxmemory', '1');
  await untilRefused(service);
  await client.config('SET', 'maxmemory', '0');
  client.disconnect();
}

async function slow(ms: number, before = async () => {}): Promise<void> {
  slowDown(1_500);
  await delay(ms);
  await before();
  slowDown(0);
}

async function slowKilled(): Promise<void> {
  await slow(8_000, () => redis.kill());
  await redis.start();
}

async function endEverything(): Promise<void> {
  const workers = service.workers.slice(-2);
  await Promise.all([redis, mongo, service.api(), ...workers].map((part) => part.kill()));
  await Promise.all([redis.start(), mongo.start()]);
  await Promise.all([service.startApi(), ...workers.map(() => service.startWorker())]);
}

/** Ends a part, and starts it again or a replacement. */
const replaced = (end: Happen, start: Happen) => async () => {
  await end();
  await start();
};

async function thawed(pid: number): Promise<void> {
  await delay(8_000);
  process.kill(pid, 'SIGCONT');
}

async function freezeWorker(): Promise<void> {
  const { pid } = newest(service);
  process.kill(pid, 'SIGSTOP');
  await thawed(pid);
}

/** Somebody sets the clock of a process an hour ahead, and sets it right three seconds later. */
async function jump({ pid }: ServiceProcess): Promise<void> {
  clocks?.set(pid, 3_600_000);
  await delay(3_000);
  clocks?.set(pid, 0);
}

const [startRedis, startMongo] = [() => redis.start(), () => mongo.start()];
const [startApi, startWorker] = [() => service.startApi(), () => service.startWorker()];

const faults: readonly Fault[] = [
  // A command that was only late is obeyed.
  ['Redis frozen until it is noticed', 'gate', { ...counts, untaken: 0 }, freezeUntilNoticed],
  ...[500, 800, 1_000, 1_500, 3_000, 6_000, 10_000, 20_000].map(
    (ms): Fault => [`Redis frozen for ${ms / 1_000} s`, ms === 1_000 ? 'gate' : '', counts, () => freeze(ms)],
  ),
  ['Redis frozen three times for 0.9 s', '', counts, freezeThrice],
  ['Redis killed and started', 'gate', counts, replaced(() => redis.kill(), startRedis)],
  ['Redis stopped and started', '', counts, replaced(() => redis.stop(), startRedis)],
  ['Redis at maxmemory', 'gate', counts, fill],
  ['Redis on a disk that syncs in 1.5 s, for 10 s', '', counts, () => slow(10_000)],
  ['Redis on such a disk killed, and started', '', counts, slowKilled],
  ['MongoDB killed and started', 'gate', uncounts, replaced(() => mongo.kill(), startMongo)],
  ['MongoDB stopped and started', '', uncounts, replaced(() => mongo.stop(), startMongo)],
  ['the API killed and started', 'gate', counts, replaced(() => service.api().kill(), startApi)],
  ['the API stopped and started', '', counts, replaced(() => service.api().stop(), startApi)],
  ['everything killed at once, and started', 'gate', uncounts, endEverything],
  ['a worker stopped, and another started', '', counts, replaced(() => newest(service).stop(), startWorker)],
  ['a worker killed, and another started', 'gate', uncounts, replaced(() => newest(service).kill(), startWorker)],
  ['a worker frozen for 8 s', '', uncounts, freezeWorker],
  ['the clock of a worker an hour ahead for 3 s', '', counts, () => jump(newest(service))],
  ['the clock of the API an hour ahead for 3 s', '', counts, () => jump(service.api())],
  ...['stamps', 'counts', 'outputs'].map(
    (collection): Fault => [
      `a worker frozen for 8 s before it writes ${collection}`,
      '',
      uncounts,
      async () => thawed(await freezing.beforeWrite(collection)),
    ],
  ),
];

beforeAll(async () => {
  if (isFaults) {
    ({ slowDown, ...redis } = await startRedisOnSlowableDisk());
    clocks = prepareMovedClocks();
  } else {
    redis = await startPrivateRedis();
  }
  mongo = await breakableMongo();
  const settings = {
    MONGODB_URL: freshDatabase(mongo.url),
    REDIS_URL: redis.url,
    RATE_WORKFLOW_START_PER_HOUR: '0',
    RATE_WORKFLOW_STAMP_PER_MINUTE: '0',
    LOG_LEVEL: 'error',
    ...freezing.settings,
    ...clocks?.settings,
  };
  service = await startProcesses({ workers: 2, settings, keep: true });
});
afterAll(async () => {
  await service.stop();
  await redis.dispose();
  freezing.dispose();
  clocks?.dispose();
  console.table(Object.fromEntries(figures.map(({ fault, ...counted }) => [fault, counted])));
});

test.each(faults.filter(([, runs]) => runs === 'gate' || isFaults))(
  'E11: %s: no answer is false, and no stamp is lost, doubled, misnumbered or miscounted',
  async (name, _runs, more, happen) => {
    const counted = await runFault({ name, service, clients: isFaults ? 16 : 8, fault: happen });
    figures.push(counted);
    expect(counted).toMatchObject({ other: 0, lost: 0, doubled: 0, misnumbered: 0, false503: 0, miscountedStill: 0, ...more });
  },
);
