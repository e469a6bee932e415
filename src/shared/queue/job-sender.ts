import type { Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { type JobName, type JobPayload, jobContracts } from './jobs.ts';
import { type Acceptance, acceptanceOf, checkConnection, jobOptionsOf, openQueue } from './open-queue.ts';

/** The kinds of jobs that are sent one by one. */
type SentJob = Extract<JobName, 'otp-mail' | 'completion-mail' | 'workflow-completion' | 'webhook'>;

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

/** Sends single jobs: mails, completions and webhooks. */
export function createJobSender({ redis, log }: { redis: Redis; log: Logger }): JobSender {
  const queueOf = (name: SentJob): Queue => openQueue(jobContracts[name].queue, { redis, log });
  const queues: Readonly<Record<SentJob, Queue>> = {
    'otp-mail': queueOf('otp-mail'),
    'completion-mail': queueOf('completion-mail'),
    'workflow-completion': queueOf('workflow-completion'),
    webhook: queueOf('webhook'),
  };

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
    send: (name, payload, jobId) =>
      acceptanceOf(redis, async () => {
        const job = await queues[name].add(name, payload, { ...jobOptionsOf(name), jobId });
        // The caller asks for the completion now, so it must not wait for the end of its retry pause.
        if (name === 'workflow-completion') await promote(job);
      }),
    close: async () => void (await Promise.all(Object.values(queues).map((queue) => queue.close()))),
  };
}
