import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { pingPrimary } from '../redis/connection.ts';
import type { Logger } from '../runtime/log.ts';
import { every } from '../runtime/timers.ts';
import { keptQueues, promisedQueueName, stampQueueName } from './jobs.ts';
import { openQueue } from './open-queue.ts';

const lookMs = 1_000;
/** The interval while Redis is silent. It is shorter, so that the service accepts requests again soon after Redis answers. */
const silentLookMs = 100;
const rememberedJobs = 1_000;

/** The size of both stamp queues together, and the failed jobs of all queues. */
interface QueueState {
  /** The number of stamps that wait or will be retried: the number of jobs, times the mean size of the jobs that this process sent last. */
  readonly waiting: number;
  /** When the oldest job was sent, of those that are next in their queue, in milliseconds since the epoch. Null if no job waits. */
  readonly oldestAt: number | null;
  /** The number of jobs that were given up and need an operator. */
  readonly failedJobs: number;
}

interface QueueWatch {
  /** Records the number of stamps in a job that this process has sent. */
  sent(items: number): void;
  /** The number of waiting stamps at the last check, usually at most a second ago. */
  depth(): number;
  /** Returns true if Redis is connected but did not answer the last check. */
  isSilent(): boolean;
  /** Reads the state from Redis now. */
  read(): Promise<QueueState>;
  stop(): Promise<void>;
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

const jobsIn = async (queues: readonly Queue[], ...places: ('wait' | 'delayed' | 'active')[]): Promise<number> =>
  sum((await Promise.all(queues.map((queue) => queue.getJobCounts(...places)))).flatMap((counts) => Object.values(counts)));

/**
 * Reads the size of the stamp queues from Redis once a second. The result is an estimate, because Redis counts jobs and not their stamps.
 */
export function watchQueue({ redis, log }: { redis: Redis; log: Logger }): QueueWatch {
  const stopping = new AbortController();
  const queues = keptQueues.map((name) => openQueue(name, { redis, log }));
  const ofStamps = queues.filter(({ name }) => name === stampQueueName || name === promisedQueueName);
  const sizes: number[] = [];
  let depth = 0;
  let isSilent = false;

  const meanSize = () => (sizes.length === 0 ? 1 : sum(sizes) / sizes.length);
  const readDepth = async () => Math.round((await jobsIn(ofStamps, 'wait', 'delayed')) * meanSize());

  const answers = () =>
    pingPrimary(redis).then(
      () => true,
      () => false,
    );

  async function look(): Promise<void> {
    // If this process was suspended, the first PING times out even if Redis answered. So a second PING decides.
    const isAnswered = (await answers()) || (await answers());
    isSilent = !isAnswered && redis.status === 'ready';
    if (isAnswered) depth = await readDepth();
  }

  const lookSafely = () => look().catch((error) => log.debug({ err: error }, 'the depth of the queue cannot be read'));
  const looking = every(() => (isSilent ? silentLookMs : lookMs), lookSafely, stopping.signal);
  return {
    sent: (items) => {
      sizes.push(items);
      if (sizes.length > rememberedJobs) sizes.shift();
    },
    depth: () => depth,
    isSilent: () => isSilent,
    read: async () => {
      const [waiting, next, failed] = await Promise.all([
        readDepth(),
        Promise.all(ofStamps.map((queue) => queue.getJobs(['wait', 'delayed'], 0, 0, true))),
        Promise.all(queues.map((queue) => queue.getFailedCount())),
      ]);
      const times = next.flat().map(({ timestamp }) => timestamp);
      return {
        waiting,
        oldestAt: times.length === 0 ? null : Math.min(...times),
        failedJobs: sum(failed),
      };
    },
    stop: async () => {
      stopping.abort();
      await looking;
      await Promise.all(queues.map((queue) => queue.close()));
    },
  };
}

const jobsPerRead = 200;

/**
 * Reads the ids of all sealed contents in unfinished jobs. Jobs move during the read, so each place is read before the places that its jobs can move
 * to. Stamps move from `stamps` to `promised-stamps`, and never back.
 */
export async function readContentsUnderWay({ redis, log }: { redis: Redis; log: Logger }): Promise<ReadonlySet<string>> {
  const queues = [stampQueueName, promisedQueueName].map((name) => openQueue<object>(name, { redis, log }));
  // From `active`, a failed job moves to `delayed`, a job of a killed worker moves to `wait`, and a job that was given up moves to `failed`.
  const places = ['failed', 'delayed', 'wait', 'active', 'delayed', 'wait', 'failed'] as const;
  const found = new Set<string>();
  try {
    for (const [queue, place] of queues.flatMap((each) => places.map((one) => [each, one] as const))) {
      for (let start = 0; ; start += jobsPerRead) {
        const jobs = await queue.getJobs([place], start, start + jobsPerRead - 1);
        for (const job of jobs) {
          for (const [, contentId = ''] of JSON.stringify(job?.data ?? {}).matchAll(/"contentId":"([0-9a-f]+)"/g)) found.add(contentId);
        }
        if (jobs.length === 0) break;
      }
    }
  } finally {
    for (const queue of queues) await queue.close();
  }
  return found;
}
