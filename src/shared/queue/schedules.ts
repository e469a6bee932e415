import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Logger } from '../runtime/log.ts';
import { every } from '../runtime/timers.ts';
import { inJobForm, jobContracts, queueConcurrency } from './jobs.ts';
import { jobOptionsOf, longestPauseMs, openQueue } from './open-queue.ts';

/** When a job without payload runs. `pattern`: the exact times (cron, UTC) of a job that runs each `everyMs`. */
export interface Schedule {
  readonly name: 'sweep' | 'recount' | 'qstamp-renew' | 'trusted-lists';
  readonly everyMs: number;
  readonly pattern?: string;
}

/** Schedules a job once for all workers. */
export async function scheduleJob(redis: Redis, { name, everyMs, pattern }: Schedule, log: Logger): Promise<void> {
  const queue = openQueue(jobContracts[name].queue, { redis, log });
  // This limit is for all workers together; `queueConcurrency` is only the limit for one worker.
  if (queueConcurrency[queue.name] === 1) await queue.setGlobalConcurrency(1);
  const repeat = pattern === undefined ? { every: everyMs } : { pattern, tz: 'UTC' };
  await queue.upsertJobScheduler(name, repeat, {
    name,
    data: inJobForm({}),
    opts: queue.name === 'maintenance' ? { removeOnComplete: true, removeOnFail: true } : jobOptionsOf(name),
  });
  await queue.close();
}

const lookMs = 10_000;
/** Schedules are checked less often: a renewed schedule runs at once. */
const lookAtSchedulesMs = 3_600_000;
/** How far clocks may differ. If this worker's clock and that of Redis differ more, this worker cannot tell which jobs oversleep. */
const toleratedMs = 60_000;
/** The maximum number of jobs that one check starts in a queue. */
const mostAtOnce = 10_000;
/** BullMQ multiplies the time of a delayed job by this number to get its score. */
const scorePerMs = 0x1000;

/**
 * Starts jobs that would wait longer than the longest pause of their queue, and renews schedules whose next run is further away than their interval.
 * A worker whose clock was ahead wrote them. Every worker checks this at once, and then jobs every ten seconds and schedules every hour. Two workers
 * may do it at the same time: a job still runs once, and a schedule at most one time more.
 */
export function watchOversleepers(options: { redis: Redis; schedules: readonly Schedule[]; log: Logger }) {
  const { redis, schedules, log } = options;
  const stopping = new AbortController();
  const queues = [...new Set(Object.values(jobContracts).map(({ queue }) => queue))].map((name) => openQueue(name, { redis, log }));

  const longestIn = ({ name: queue }: Queue): number => {
    const kinds = Object.entries(jobContracts).flatMap(([kind, contract]) => (contract.queue === queue ? kind : []));
    const intervals = schedules.flatMap(({ name, everyMs }) => (kinds.includes(name) ? everyMs : []));
    return Math.max(...kinds.map(longestPauseMs), ...intervals);
  };

  async function renew(schedule: Schedule, now: number): Promise<void> {
    const { name, everyMs } = schedule;
    const queue = queues.find((one) => one.name === jobContracts[name].queue)!;
    const nextRun = await redis.zscore(queue.toKey('repeat'), name);
    if (nextRun !== null && Number(nextRun) <= now + everyMs + toleratedMs) return;
    // Only a removed schedule forgets the time of its next run.
    await queue.removeJobScheduler(name);
    await scheduleJob(redis, schedule, log);
    log.warn({ schedule: name }, 'a schedule was renewed: its next run was missing or too far away');
  }

  async function wake(queue: Queue, now: number): Promise<void> {
    const latest = (now + longestIn(queue) + toleratedMs) * scorePerMs;
    const ids = await redis.zrangebyscore(queue.toKey('delayed'), latest, '+inf', 'LIMIT', 0, mostAtOnce);
    for (const id of ids) {
      const job = await queue.getJob(id);
      await job?.promote().catch((error) => log.debug({ err: error, job: id }, 'another worker has started the job'));
    }
    if (ids.length > 0) log.warn({ queue: queue.name, jobs: ids.length }, 'jobs were started that would have waited too long');
  }

  const isScheduled = ({ name: queue }: Queue) => schedules.some(({ name }) => jobContracts[name].queue === queue);
  let schedulesAreRightUntil = Number.NEGATIVE_INFINITY;

  async function look(): Promise<void> {
    const [seconds] = await redis.time();
    const now = Number(seconds) * 1_000;
    const aheadMs = Date.now() - now;
    if (Math.abs(aheadMs) > toleratedMs) {
      log.warn({ aheadMs }, "this machine's clock differs from that of Redis");
      return;
    }
    for (const queue of queues) if (!isScheduled(queue)) await wake(queue, now);
    if (performance.now() < schedulesAreRightUntil) return;
    for (const schedule of schedules) await renew(schedule, now);
    // Only now: the next run of a schedule must not be started early, because the run after it would be as far away.
    for (const queue of queues) if (isScheduled(queue)) await wake(queue, now);
    schedulesAreRightUntil = performance.now() + lookAtSchedulesMs;
  }

  const lookSafely = () => look().catch((error) => log.debug({ err: error }, 'the delayed jobs cannot be checked; the next check follows'));
  void every(lookMs, lookSafely, stopping.signal);
  return {
    /** Does not wait for a check that is under way: Redis may be down. */
    stop: async () => {
      stopping.abort();
      await Promise.all(queues.map((queue) => queue.close()));
    },
  };
}
