import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isFaults } from '../support/depth.ts';
import { type FaultFigures, runFault } from '../support/fault-run.ts';
import { type PrivateServer, startPrivateMongo, startPrivateRedis } from '../support/servers.ts';
import { type Service, type ServiceProcess, startProcesses } from '../support/service.ts';

/** A part of a kind that is killed and replaced: the newest one. */
const newest = (service: Service<ServiceProcess>): ServiceProcess => service.workers.at(-1) as ServiceProcess;

interface Fault {
  readonly name: string;
  /** Also in `npm test`. */
  readonly isShort?: boolean;
  readonly happen: () => Promise<void>;
}

let redis: PrivateServer;
/** Only where it is to be broken. */
let mongo: PrivateServer | undefined;
let service: Service<ServiceProcess>;
const figures: FaultFigures[] = [];

async function freeze(ms: number): Promise<void> {
  redis.pause();
  await delay(ms);
  redis.resume();
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
    name: 'MongoDB killed and started',
    happen: async () => {
      await mongo?.kill();
      await mongo?.start();
    },
  },
  {
    name: 'Redis, MongoDB and a worker killed at once, and started',
    happen: async () => {
      await Promise.all([redis.kill(), mongo?.kill(), newest(service).kill()]);
      await Promise.all([redis.start(), mongo?.start()]);
      await service.startWorker();
    },
  },
  {
    name: 'a worker killed, and another started',
    happen: async () => {
      await newest(service).kill();
      await service.startWorker();
    },
  },
  {
    name: 'a worker frozen for 8 s',
    happen: async () => {
      process.kill(newest(service).pid, 'SIGSTOP');
      await delay(8_000);
      process.kill(newest(service).pid, 'SIGCONT');
    },
  },
];

beforeAll(async () => {
  redis = await startPrivateRedis();
  if (isFaults) mongo = await startPrivateMongo();
  const store = mongo && { MONGODB_URL: mongo.url };
  const settings = {
    ...store,
    REDIS_URL: redis.url,
    RATE_WORKFLOW_START_PER_HOUR: '0',
    RATE_WORKFLOW_STAMP_PER_MINUTE: '0',
    LOG_LEVEL: 'error',
  };
  service = await startProcesses({ workers: 2, settings, keep: true });
}, 60_000);
afterAll(async () => {
  await service.stop();
  await redis.dispose();
  await mongo?.dispose();
  console.table(Object.fromEntries(figures.map(({ fault, ...counted }) => [fault, counted])));
}, 60_000);

test.each(faults.filter(({ isShort = false }) => isShort || isFaults))(
  'E11: $name: no answer is false, nothing is lost or doubled',
  async ({ name, happen }) => {
    const counted = await runFault({ name, service, clients: 16, fault: happen });
    figures.push(counted);
    expect(counted).toMatchObject({ other: 0, lost: 0, doubled: 0, false503: 0 });
  },
  180_000,
);
