import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { promisedQueueName, stampQueueName } from './jobs.ts';
import { openQueue } from './sender.ts';

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
