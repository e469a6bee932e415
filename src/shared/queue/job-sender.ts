import type { Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { type JobName, type JobPayload, jobContracts } from './jobs.ts';
import { type Acceptance, acceptanceOf, checkConnection, jobOptionsOf, openQueue } from './open-queue.ts';
import { announceOutputs } from './output-order.ts';

/** The kinds of jobs that processes send. The other kinds have schedules. */
type SentJob = Extract<JobName, 'stamp' | 'promised-stamp' | 'otp-mail' | 'completion-mail' | 'workflow-completion' | 'webhook'>;

export interface JobSender {
  /** Checks that Redis is connected. @throws ServiceError `queue_unavailable` if it is not */
  checkConnection(): void;
  /**
   * Resolves when Redis has acknowledged the job, or when the wait for Redis has timed out. If the queue already has a job with this id (waiting,
   * running, to be retried or given up), nothing is added.
   *
   * @throws ServiceError `queue_unavailable` if the job certainly did not reach Redis
   */
  send<Name extends SentJob>(name: Name, payload: JobPayload<Name>, jobId: string): Promise<Acceptance>;
  close(): Promise<void>;
}

export function createJobSender({ redis, log }: { redis: Redis; log: Logger }): JobSender {
  const queues = new Map<SentJob, Queue>();

  function queueOf(name: SentJob): Queue {
    const known = queues.get(name);
    if (known) return known;
    const opened = openQueue(jobContracts[name].queue, { redis, log });
    queues.set(name, opened);
    return opened;
  }

  async function add<Name extends SentJob>(name: Name, payload: JobPayload<Name>, jobId: string): Promise<void> {
    const announcing = 'items' in payload && announceOutputs(redis, jobId, payload.items);
    const adding = queueOf(name).add(name, payload, { ...jobOptionsOf(name), jobId });
    // The job counts as accepted even if the order of its outputs cannot be recorded: only the job itself was promised.
    await Promise.allSettled([announcing, adding]);
    const job = await adding;
    // The caller asks for the completion now, so it must not wait for the end of its retry pause.
    if (name === 'workflow-completion') await promote(job);
  }

  /** Ends the pause of a delayed job. If this fails, the job has just started by itself, or it will start after its pause. */
  async function promote(job: Job): Promise<void> {
    try {
      if (await job.isDelayed()) await job.promote();
    } catch (error) {
      log.debug({ err: error, job: job.id }, 'a delayed job could not be started early');
    }
  }

  return {
    checkConnection: () => checkConnection(redis),
    send: (name, payload, jobId) => acceptanceOf(redis, () => add(name, payload, jobId)),
    close: async () => void (await Promise.all([...queues.values()].map((queue) => queue.close()))),
  };
}
