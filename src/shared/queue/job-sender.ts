import type { Job } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { type JobName, type JobPayload, jobContracts } from './jobs.ts';
import { checkConnection, openQueue, queueUnavailable } from './open-queue.ts';

/** The kinds of job that are sent one by one. */
type SentJob = Extract<JobName, 'otp-mail' | 'workflow-completion'>;

export interface JobSender {
  /** @throws ServiceError `queue_unavailable` without a connection. */
  checkConnection(): void;
  /**
   * Resolves when Redis has acknowledged the job. While a job with this id waits, runs or is to be retried, another one with it
   * changes nothing.
   *
   * @throws ServiceError `queue_unavailable`
   */
  send<Name extends SentJob>(name: Name, payload: JobPayload<Name>, jobId: string): Promise<void>;
  close(): Promise<void>;
}

/** The API's end of the queues in which jobs travel alone. */
export function createJobSender({ redis, log }: { redis: Redis; log: Logger }): JobSender {
  const names: readonly SentJob[] = ['otp-mail', 'workflow-completion'];
  const queues = new Map(
    names.map((name) => [name, openQueue(jobContracts[name].queue, { redis, log, retryKind: name, removeOnFail: true })] as const),
  );

  /** Ends the pause of a job. When that fails, the job has just started by itself. */
  async function promote(job: Job | undefined): Promise<void> {
    try {
      await job?.promote();
    } catch (error) {
      log.debug({ err: error, job: job?.id }, 'the job was not paused any more');
    }
  }

  return {
    checkConnection: () => checkConnection(redis),
    send: async (name, payload, jobId) => {
      try {
        const job = await queues.get(name)?.add(name, payload, { jobId });
        // Somebody asks for it now: it need not sit out the pause after its last failure.
        if (name === 'workflow-completion' && (await job?.isDelayed())) await promote(job);
      } catch (error) {
        throw queueUnavailable(error);
      }
    },
    close: async () => void (await Promise.all([...queues.values()].map((queue) => queue.close()))),
  };
}
