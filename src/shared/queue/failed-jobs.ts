import type { Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { ownFailuresField } from './consumer.ts';
import { type FailedJob, failedJobOf, keptQueues } from './jobs.ts';
import { jobKeyOf, openQueue } from './open-queue.ts';

/** A job that was given up, as operators see it. */
export interface ShownJob {
  readonly id: string;
  readonly kind: string;
  /** The job with its payload. Undefined if another version of the service wrote the payload. */
  readonly job: FailedJob | undefined;
  readonly reason: string;
  readonly failedAt: Date;
}

/** Finds, retries and drops the jobs that were given up. They stay until an operator decides about them. */
interface FailedJobs {
  /** All jobs that were given up, the oldest of each queue first. */
  list(): AsyncIterable<ShownJob>;
  find(id: string): Promise<ShownJob | undefined>;
  /** Puts a job back into its queue. */
  retry(id: string): Promise<void>;
  drop(id: string): Promise<void>;
  close(): Promise<void>;
}

const jobsPerRead = 100;

const shown = (job: Job): ShownJob => ({
  id: job.id ?? '',
  kind: job.name,
  job: failedJobOf(job),
  reason: job.failedReason ?? '',
  failedAt: new Date(job.finishedOn ?? job.timestamp),
});

export function openFailedJobs({ redis, log }: { redis: Redis; log: Logger }): FailedJobs {
  const queues = keptQueues.map((name) => openQueue(name, { redis, log }));

  async function findJob(id: string): Promise<{ queue: Queue; job: Job } | undefined> {
    for (const queue of queues) {
      const job: Job | undefined = await queue.getJob(id);
      if (job && (await job.isFailed())) return { queue, job };
    }
    return undefined;
  }

  return {
    list: async function* () {
      for (const queue of queues) {
        for (let start = 0; ; start += jobsPerRead) {
          const jobs: Job[] = await queue.getJobs(['failed'], start, start + jobsPerRead - 1, true);
          yield* jobs.map(shown);
          if (jobs.length === 0) break;
        }
      }
    },
    find: async (id) => {
      const found = await findJob(id);
      return found && shown(found.job);
    },
    retry: async (id) => {
      const found = await findJob(id);
      if (!found) return;
      const { queue, job } = found;
      // BullMQ 6.7 does not reset the stalled counter of a job, so it would give the job up again at once.
      await redis.hdel(jobKeyOf(redis, queue.name, id), 'stc', 'defa', ownFailuresField);
      await job.retry('failed', { resetAttemptsMade: true });
    },
    drop: async (id) => void (await (await findJob(id))?.job.remove()),
    close: async () => void (await Promise.all(queues.map((queue) => queue.close()))),
  };
}
