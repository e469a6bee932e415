import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isFaults } from '../support/depth.ts';
import { type FaultFigures, runFault } from '../support/fault-run.ts';
import { prepareFreezing } from '../support/freezing.ts';
import { type MovedClocks, prepareMovedClocks } from '../support/moved-clock.ts';
import { type PrivateServer, startPrivateMongo, startPrivateRedis } from '../support/servers.ts';
import { type Service, type ServiceProcess, startProcesses } from '../support/service.ts';
import { startRedisOnSlowableDisk } from '../support/slow-disk.ts';

/** The newest worker is the one that is killed and replaced. */
const newest = (service: Service<ServiceProcess>): ServiceProcess => service.workers.at(-1) as ServiceProcess;

/** `short`: also in `npm test`. `uncounts`: events that were refused or not yet counted are missing until the hour is recounted. */
type Fault = readonly [name: string, mark: 'short' | 'uncounts' | '', happen: () => Promise<void>];

let redis: PrivateServer;
/** How long a sync of the Redis disk takes, milliseconds; only in `npm run test:faults`. */
let slowDown: (syncMs: number) => void;
/** Only if a test breaks it. */
let mongo: PrivateServer | undefined;
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

async function freezeThrice(): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    await freeze(900);
    await delay(700);
  }
}

async function fill(): Promise<void> {
  const client = new Redis(redis.url);
  await client.config('SET', 'maxmemory', '1');
  await delay(2_000);
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
  await Promise.all([redis, mongo, service.api(), ...workers].map((part) => part?.kill()));
  await Promise.all([redis.start(), mongo?.start()]);
  await Promise.all([service.startApi(), ...workers.map(() => service.startWorker())]);
}

/** Ends a part, and starts it again or a replacement. */
const replaced = (end: () => Promise<unknown> | undefined, start: () => Promise<unknown> | undefined) => async () => {
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

const [startRedis, startMongo] = [() => redis.start(), () => mongo?.start()];
const [startApi, startWorker] = [() => service.startApi(), () => service.startWorker()];

const faults: readonly Fault[] = [
  ...[500, 800, 1_000, 1_500, 3_000, 6_000, 10_000, 20_000].map(
    (ms): Fault => [`Redis frozen for ${ms / 1_000} s`, ms === 1_000 ? 'short' : '', () => freeze(ms)],
  ),
  ['Redis frozen three times for 0.9 s', '', freezeThrice],
  ['Redis killed and started', 'short', replaced(() => redis.kill(), startRedis)],
  ['Redis stopped and started', '', replaced(() => redis.stop(), startRedis)],
  ['Redis at maxmemory for 2 s', '', fill],
  ['Redis on a disk that syncs in 1.5 s, for 10 s', '', () => slow(10_000)],
  ['Redis on such a disk killed, and started', '', slowKilled],
  ['MongoDB killed and started', 'uncounts', replaced(() => mongo?.kill(), startMongo)],
  ['MongoDB stopped and started', 'uncounts', replaced(() => mongo?.stop(), startMongo)],
  ['the API killed and started', 'short', replaced(() => service.api().kill(), startApi)],
  ['the API stopped and started', '', replaced(() => service.api().stop(), startApi)],
  ['everything killed at once, and started', 'uncounts', endEverything],
  ['a worker stopped, and another started', '', replaced(() => newest(service).stop(), startWorker)],
  ['a worker killed, and another started', 'uncounts', replaced(() => newest(service).kill(), startWorker)],
  ['a worker frozen for 8 s', 'uncounts', freezeWorker],
  ['the clock of a worker an hour ahead for 3 s', '', () => jump(newest(service))],
  ['the clock of the API an hour ahead for 3 s', '', () => jump(service.api())],
  ...['stamps', 'counts', 'outputs'].map(
    (collection): Fault => [
      `a worker frozen for 8 s before it writes ${collection}`,
      'uncounts',
      async () => thawed(await freezing.beforeWrite(collection)),
    ],
  ),
];

beforeAll(async () => {
  if (isFaults) {
    ({ slowDown, ...redis } = await startRedisOnSlowableDisk());
    mongo = await startPrivateMongo();
    clocks = prepareMovedClocks();
  } else {
    redis = await startPrivateRedis();
  }
  const store = mongo && { MONGODB_URL: mongo.url };
  const settings = {
    ...store,
    REDIS_URL: redis.url,
    RATE_WORKFLOW_START_PER_HOUR: '0',
    RATE_WORKFLOW_STAMP_PER_MINUTE: '0',
    LOG_LEVEL: 'error',
    ...freezing.settings,
    ...clocks?.settings,
  };
  service = await startProcesses({ workers: 2, settings, keep: true });
}, 60_000);
afterAll(async () => {
  await service.stop();
  await redis.dispose();
  await mongo?.dispose();
  freezing.dispose();
  clocks?.dispose();
  console.table(Object.fromEntries(figures.map(({ fault, ...counted }) => [fault, counted])));
}, 60_000);

test.each(faults.filter(([, mark]) => mark === 'short' || isFaults))(
  'E11: %s: no answer is false, and no stamp is lost, doubled or miscounted',
  async (name, mark, happen) => {
    const counted = await runFault({ name, service, clients: 16, fault: happen });
    figures.push(counted);
    expect(counted).toMatchObject({ other: 0, lost: 0, doubled: 0, false503: 0, miscountedStill: 0 });
    if (mark !== 'uncounts') expect(counted.miscounted).toBe(0);
  },
  180_000,
);
