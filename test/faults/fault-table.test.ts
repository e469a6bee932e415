import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isFaults } from '../support/depth.ts';
import { type FaultFigures, runFault } from '../support/fault-run.ts';
import { prepareFreezing } from '../support/freezing.ts';
import { type PrivateServer, startPrivateMongo, startPrivateRedis } from '../support/servers.ts';
import { type Service, type ServiceProcess, startProcesses } from '../support/service.ts';
import { startRedisOnSlowableDisk } from '../support/slow-disk.ts';

/** The worker that is killed and replaced: the newest one. */
const newest = (service: Service<ServiceProcess>): ServiceProcess => service.workers.at(-1) as ServiceProcess;

interface Fault {
  readonly name: string;
  /** Also in `npm test`. */
  readonly isShort?: boolean;
  /** A worker is killed or frozen, or the store ends: what was not counted yet, or refused, is missing until the hour is counted again. */
  readonly losesCounts?: boolean;
  readonly happen: () => Promise<void>;
}

let redis: PrivateServer;
/** How long the disk of Redis takes to sync, milliseconds; only in `npm run test:faults`. */
let slowDown: (syncMs: number) => void;
/** Only where it is to be broken. */
let mongo: PrivateServer | undefined;
let service: Service<ServiceProcess>;
const freezing = prepareFreezing();
const figures: FaultFigures[] = [];

async function freeze(ms: number): Promise<void> {
  await redis.pause();
  await delay(ms);
  await redis.resume();
}

const faults: readonly Fault[] = [
  ...[500, 800, 1_000, 1_500, 3_000, 6_000, 10_000, 20_000].map((ms) => ({
    name: `Redis frozen for ${ms / 1_000} s`,
    isShort: ms === 1_000,
    happen: () => freeze(ms),
  })),
  {
    name: 'Redis frozen three times for 0.9 s',
    happen: async () => {
      for (let times = 0; times < 3; times += 1) {
        await freeze(900);
        await delay(700);
      }
    },
  },
  {
    name: 'Redis killed and started',
    isShort: true,
    happen: async () => {
      await redis.kill();
      await redis.start();
    },
  },
  {
    name: 'Redis stopped and started',
    happen: async () => {
      await redis.stop();
      await redis.start();
    },
  },
  {
    name: 'Redis at maxmemory for 2 s',
    happen: async () => {
      const client = new Redis(redis.url);
      await client.config('SET', 'maxmemory', '1');
      await delay(2_000);
      await client.config('SET', 'maxmemory', '0');
      client.disconnect();
    },
  },
  {
    name: 'Redis on a disk that syncs in 1.5 s, for 10 s',
    happen: async () => {
      slowDown(1_500);
      await delay(10_000);
      slowDown(0);
    },
  },
  {
    name: 'Redis on such a disk killed, and started',
    happen: async () => {
      slowDown(1_500);
      await delay(8_000);
      await redis.kill();
      slowDown(0);
      await redis.start();
    },
  },
  {
    name: 'MongoDB killed and started',
    losesCounts: true,
    happen: async () => {
      await mongo?.kill();
      await mongo?.start();
    },
  },
  {
    name: 'MongoDB stopped and started',
    losesCounts: true,
    happen: async () => {
      await mongo?.stop();
      await mongo?.start();
    },
  },
  {
    name: 'the API killed and started',
    isShort: true,
    happen: async () => {
      await service.api().kill();
      await service.startApi();
    },
  },
  {
    name: 'the API stopped and started',
    happen: async () => {
      await service.api().stop();
      await service.startApi();
    },
  },
  {
    name: 'everything killed at once, and started',
    losesCounts: true,
    happen: async () => {
      const workers = service.workers.slice(-2);
      await Promise.all([redis, mongo, service.api(), ...workers].map((part) => part?.kill()));
      await Promise.all([redis.start(), mongo?.start()]);
      await Promise.all([service.startApi(), ...workers.map(() => service.startWorker())]);
    },
  },
  {
    name: 'a worker stopped, and another started',
    happen: async () => {
      await newest(service).stop();
      await service.startWorker();
    },
  },
  {
    name: 'a worker killed, and another started',
    losesCounts: true,
    happen: async () => {
      await newest(service).kill();
      await service.startWorker();
    },
  },
  {
    name: 'a worker frozen for 8 s',
    losesCounts: true,
    happen: async () => {
      process.kill(newest(service).pid, 'SIGSTOP');
      await delay(8_000);
      process.kill(newest(service).pid, 'SIGCONT');
    },
  },
  ...['stamps', 'counts', 'outputs'].map((collection) => ({
    name: `a worker frozen for 8 s before it writes ${collection}`,
    losesCounts: true,
    happen: async () => {
      const frozen = await freezing.beforeWrite(collection);
      await delay(8_000);
      process.kill(frozen, 'SIGCONT');
    },
  })),
];

beforeAll(async () => {
  if (isFaults) {
    ({ slowDown, ...redis } = await startRedisOnSlowableDisk());
    mongo = await startPrivateMongo();
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
  };
  service = await startProcesses({ workers: 2, settings, keep: true });
}, 60_000);
afterAll(async () => {
  await service.stop();
  await redis.dispose();
  await mongo?.dispose();
  freezing.dispose();
  console.table(Object.fromEntries(figures.map(({ fault, ...counted }) => [fault, counted])));
}, 60_000);

test.each(faults.filter(({ isShort = false }) => isShort || isFaults))(
  'E11: $name: no answer is false, nothing is lost, doubled or miscounted',
  async ({ name, losesCounts = false, happen }) => {
    const counted = await runFault({ name, service, clients: 16, fault: happen });
    figures.push(counted);
    expect(counted).toMatchObject({ other: 0, lost: 0, doubled: 0, false503: 0, miscountedStill: 0 });
    if (!losesCounts) expect(counted.miscounted).toBe(0);
  },
  180_000,
);
