import { setTimeout as delay } from 'node:timers/promises';
import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { keptQueues, openQueue } from './open-queue.ts';
import { stampQueueName } from './stamp-job.ts';

const lookMs = 1_000;
/** The service is not to refuse for longer than Redis does. */
const silentLookMs = 100;
const rememberedJobs = 1_000;

/** What waits in the queue of stamps, and what was given up in all queues. */
export interface QueueState {
  /** Stamps that wait or are to be tried again: the number of jobs, times the mean size of those that this process has sent last. */
  readonly waiting: number;
  /** When the oldest of the jobs that are next was accepted, in milliseconds since the epoch; null when none waits. */
  readonly oldestAt: number | null;
  /** Jobs that were given up and wait for an operator. */
  readonly failedJobs: number;
}

export interface QueueWatch {
  /** Notes how many stamps a job had that this process has sent. */
  sent(items: number): void;
  /** Stamps that waited when Redis was asked last, at most a second ago. */
  depth(): number;
  /** Whether Redis did not answer when it was asked last. */
  isSilent(): boolean;
  /** Asks Redis now. */
  read(): Promise<QueueState>;
  stop(): Promise<void>;
}

const waitingJobsIn = async (queue: Queue): Promise<number> => {
  const counts = await queue.getJobCounts('wait', 'delayed');
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
};

/** Asks Redis once a second how much waits; the answer is an estimate, since jobs are counted and not their stamps. */
export function watchQueue({ redis, log }: { redis: Redis; log: Logger }): QueueWatch {
  const stopping = new AbortController();
  const queues = keptQueues.map((name) => openQueue(name, { redis, log }));
  const stamps = queues.find(({ name }) => name === stampQueueName)!;
  const sizes: number[] = [];
  let depth = 0;
  let isSilent = false;

  const meanSize = () => (sizes.length === 0 ? 1 : sizes.reduce((sum, size) => sum + size, 0) / sizes.length);
  const readDepth = async () => Math.round((await waitingJobsIn(stamps)) * meanSize());

  const answers = () =>
    redis.ping().then(
      () => true,
      () => false,
    );

  async function look(): Promise<void> {
    // A process that stood still finds its first question expired, whether Redis answered or not. So a second one decides.
    const isAnswered = (await answers()) || (await answers());
    isSilent = !isAnswered && redis.status === 'ready';
    if (isAnswered) depth = await readDepth();
  }

  async function lookUntilStopped(): Promise<void> {
    while (!stopping.signal.aborted) {
      await look().catch((error) => log.debug({ err: error }, 'the depth of the queue cannot be read'));
      // It rejects only when the watch is stopped.
      await delay(isSilent ? silentLookMs : lookMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const looking = lookUntilStopped();
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
        stamps.getJobs(['wait', 'delayed'], 0, 0, true),
        Promise.all(queues.map((queue) => queue.getFailedCount())),
      ]);
      const times = next.map(({ timestamp }) => timestamp);
      return {
        waiting,
        oldestAt: times.length === 0 ? null : Math.min(...times),
        failedJobs: failed.reduce((sum, count) => sum + count, 0),
      };
    },
    stop: async () => {
      stopping.abort();
      await looking;
      await Promise.all(queues.map((queue) => queue.close()));
    },
  };
}
