import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { openQueue } from './open-queue.ts';
import { stampQueueName } from './stamp-job.ts';

const jobsPerRead = 200;

/**
 * Reads the ids of all sealed contents that unfinished jobs refer to, in whatever form a version has written its jobs. Jobs move while they
 * are read, so each place where one may go next is read after the one that it leaves.
 */
export function createContentsUnderWay({ redis, log }: { redis: Redis; log: Logger }): () => Promise<ReadonlySet<string>> {
  const queue = openQueue<object>(stampQueueName, { redis, log });
  return async () => {
    const found = new Set<string>();
    // Behind `active`, a job that failed is delayed, one whose worker was killed waits again, and one that was given up is `failed`.
    for (const place of ['failed', 'delayed', 'wait', 'active', 'delayed', 'wait', 'failed'] as const) {
      for (let start = 0; ; start += jobsPerRead) {
        const jobs = await queue.getJobs([place], start, start + jobsPerRead - 1);
        for (const job of jobs) {
          for (const [, contentId = ''] of JSON.stringify(job?.data ?? {}).matchAll(/"contentId":"([0-9a-f]+)"/g)) found.add(contentId);
        }
        if (jobs.length === 0) break;
      }
    }
    return found;
  };
}
