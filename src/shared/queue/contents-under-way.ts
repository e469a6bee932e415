import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { openQueue } from './open-queue.ts';
import { stampQueueName } from './stamp-job.ts';

const jobsPerRead = 200;

/**
 * The ids of all sealed contents that unfinished jobs refer to, in whatever form a version has written its jobs. Jobs move while this
 * reads, so it follows them from place to place, and reads each list from the end where jobs come in: none slips past it.
 */
export async function readContentsUnderWay({ redis, log }: { redis: Redis; log: Logger }): Promise<ReadonlySet<string>> {
  const queue = openQueue<object>(stampQueueName, { redis, log, retryKind: 'stamp', removeOnFail: true });
  const found = new Set<string>();
  for (const place of ['delayed', 'wait', 'active', 'delayed'] as const) {
    for (let start = 0; ; start += jobsPerRead) {
      const jobs = await queue.getJobs([place], start, start + jobsPerRead - 1);
      for (const job of jobs) {
        for (const [, contentId = ''] of JSON.stringify(job?.data ?? {}).matchAll(/"contentId":"([0-9a-f]+)"/g)) found.add(contentId);
      }
      if (jobs.length === 0) break;
    }
  }
  return found;
}
