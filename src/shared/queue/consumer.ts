import { setTimeout as delay } from 'node:timers/promises';
import { DelayedError, type Job, type Queue, UnrecoverableError, Worker } from 'bullmq';
import { type Redis, ReplyError } from 'ioredis';
import { ServiceError, TransientError } from '../domain/service-error.ts';
import { keyPrefix } from '../redis/connection.ts';
import type { Logger } from '../runtime/log.ts';
import { every } from '../runtime/timers.ts';
import {
  type FailedJob,
  failedJobOf,
  inJobForm,
  isOfNewerForm,
  type JobName,
  type JobProcessors,
  type JobRun,
  jobContracts,
  NotItsTurnError,
  placesOf,
  queueConcurrency,
} from './jobs.ts';
import { jobOptionsOf, openQueue } from './sender.ts';

/** Milliseconds. The jobs of a killed worker start again after at most `lockMs` + `stalledCheckMs` (docs/reference/adr/0003-how-bullmq-is-set.md). */
const lockMs = 5_000;
const stalledCheckMs = 2_000;

/** A job that loses its worker ten times is given up, because the job itself may crash the workers. */
const maxStalledCount = 9;

/** A job is given up at its fifth own failure (see `isTransient`). BullMQ counts every attempt, so the job has a separate counter for own failures. */
const mostOwnFailures = 5;
export const ownFailuresField = 'qstamp-own-failures';

const keyOf = ({ queueName, id }: Job): string => `${keyPrefix}:${queueName}:${id}`;

/**
 * The first and the longest pause between attempts, in milliseconds, if they differ from `defaultRetry`. Greylisting mail servers accept a mail only
 * after minutes. A completion whose root cannot be stamped is also retried slowly; a new request of the caller starts it at once.
 */
const retries: Readonly<Record<string, { readonly first: number; readonly longest: number }>> = {
  'otp-mail': { first: 1_000, longest: 300_000 },
  'completion-mail': { first: 1_000, longest: 300_000 },
  'workflow-completion': { first: 200, longest: 60_000 },
  webhook: { first: 1_000, longest: 900_000 },
  // Renewals are due months before the evidence expires.
  'qstamp-renew': { first: 30_000, longest: 3_600_000 },
};
const defaultRetry = { first: 200, longest: 5_000 };
const unknownJobRetryMs = 60_000;

/** A worker says at most once in this time that jobs of a kind wait for newer workers, in milliseconds. */
const newerFormWarningMs = 60_000;

/** Returns the longest pause of a job of this kind, in milliseconds, whatever the reason for the pause. */
export const longestPauseMs = (kind: string): number => Math.max((retries[kind] ?? defaultRetry).longest, unknownJobRetryMs);

/** Returns the pause before the next attempt, in milliseconds. It doubles from the first to the longest pause of the kind. Half of it is random. */
export function retryDelayMs(attemptsMade: number, kind = '', random: () => number = Math.random): number {
  const { first, longest } = retries[kind] ?? defaultRetry;
  const delayMs = Math.min(first * 2 ** Math.min(attemptsMade - 1, 10), longest);
  return Math.round(delayMs / 2 + (random() * delayMs) / 2);
}

/** The job belongs to another version of the service. A worker of the right version will run it. */
class UnknownJobError extends TransientError {
  override readonly name = 'UnknownJobError';
}

/** Another worker has taken the job over. */
class JobLostError extends TransientError {
  override readonly name = 'JobLostError';
}

/** ioredis 6, BullMQ and V8 have no error class for a lost connection, a lost lock or missing memory, so only the message identifies these errors. */
const transientMessage = /^(Connection is closed|Command timed out|Stream isn't writeable|Missing lock|Array buffer allocation failed)/;
const transientName = /^(AbortError|TimeoutError|MaxRetriesPerRequestError)$/;
/** Error codes of the operating system, of streams and of sockets. */
const transientCode = /^(E[A-Z]+$|ERR_STREAM_|ERR_SOCKET_)/;

/** Returns true if the job can succeed later without a change. Returns false for unknown errors: they count as the job's own failures. */
export function isTransient(error: unknown): boolean {
  if (error instanceof TransientError || error instanceof ServiceError || error instanceof ReplyError) return true;
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.every(isTransient);
  const code = 'code' in error ? String(error.code) : '';
  return transientMessage.test(error.message) || transientName.test(error.name) || transientCode.test(code);
}

/**
 * Replaces the payload of a job. KEYS: the lock of the job, the job. ARGV: the lock's token, the payload. Returns 0 and does nothing if another
 * worker runs the job, or if the job is gone.
 */
const replaceWhileLocked = `
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  redis.call('HSET', KEYS[2], 'data', ARGV[2])
  return 1
`;
/** Counts a failure of a job. KEYS: the lock of the job, the job. ARGV: the lock's token, the counter. Returns 0 if the lock is not ours. */
const countFailureWhileLocked = `
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  return redis.call('HINCRBY', KEYS[2], ARGV[2], 1)
`;

/** If Redis is lost while a worker stops, its jobs may still run this long. */
const finishWithoutRedisMs = 10_000;
/** After these jobs have ended, the worker waits this long for Redis to come back and store their outcome. */
const farewellMs = 1_000;

interface Consumer {
  /** Stops taking jobs, and resolves when the running jobs have finished. */
  close(): Promise<void>;
}

/** Runs the jobs of all queues in this process, at most `concurrency` jobs of a queue at a time. */
export function consumeJobs(options: {
  redis: Redis;
  processors: JobProcessors;
  concurrency: number;
  log: Logger;
  /** Called for each failed run of a job. */
  onFailed?: (job: string) => void;
  /** Called when a job is given up. The job stays in the queue until an operator retries or drops it. */
  onGivenUp?: (job: FailedJob) => Promise<void>;
}): Consumer {
  const { redis, processors, concurrency, log, onFailed, onGivenUp } = options;

  /** When this worker last said that jobs of a kind wait for newer workers, by the monotonic clock. */
  const warnedAt = new Map<string, number>();

  /** Leaves the job to newer workers, with the pauses of a retry. It may wait for as long as none runs. @throws NotItsTurnError always */
  function leaveToNewer({ name, attemptsStarted }: Job): never {
    const now = performance.now();
    if (now - (warnedAt.get(name) ?? Number.NEGATIVE_INFINITY) >= newerFormWarningMs) {
      warnedAt.set(name, now);
      log.warn({ kind: name }, 'jobs of a newer version wait for a newer worker');
    }
    throw new NotItsTurnError(retryDelayMs(attemptsStarted, name));
  }

  async function run(job: Job, lock = ''): Promise<void> {
    if (isOfNewerForm(job.data)) leaveToNewer(job);
    if (!Object.hasOwn(jobContracts, job.name)) throw new UnknownJobError(`no processor for a job named ${job.name}`);
    const name = job.name as JobName;
    const payload = jobContracts[name].payload.safeParse(job.data);
    if (!payload.success) throw new UnknownJobError(`the payload does not match its contract: ${payload.error.message}`);
    const process = processors[name] as (payload: unknown, run: JobRun) => Promise<void>;
    await process(payload.data, {
      jobId: job.id ?? '',
      isRetry: job.attemptsStarted > 1,
      isOurs: async () => (await job.extendLock(lock, lockMs)) === 1,
      keepOnly: (rest) => replacePayload(job, lock, rest),
    });
  }

  /** Stores another payload for a running job. @throws JobLostError, or an error of Redis if it is down */
  async function replacePayload(job: Job, lock: string, payload: object): Promise<void> {
    const key = keyOf(job);
    const isReplaced = await redis.eval(replaceWhileLocked, 2, `${key}:lock`, key, lock, JSON.stringify(inJobForm(payload)));
    if (isReplaced !== 1) throw new JobLostError('another worker has taken the job over');
    job.data = payload;
  }

  const running = new Set<Promise<void>>();

  /** Decides whether a failed job is delayed, retried or given up. */
  async function judgeFailure(job: Job, lock: string | undefined, error: unknown): Promise<never> {
    if (error instanceof NotItsTurnError) {
      await job.moveToDelayed(Date.now() + Math.min(error.waitMs, longestPauseMs(job.name)), lock);
      throw new DelayedError();
    }
    if (isTransient(error)) throw error;
    const key = keyOf(job);
    const failures = Number(await redis.eval(countFailureWhileLocked, 2, `${key}:lock`, key, lock ?? '', ownFailuresField));
    if (failures < mostOwnFailures) throw error;
    throw new UnrecoverableError(error instanceof Error ? error.message : String(error));
  }

  function process(job: Job, lock?: string): Promise<void> {
    const ended = run(job, lock)
      .catch((error) => judgeFailure(job, lock, error))
      .finally(() => running.delete(ended));
    running.add(ended);
    return ended;
  }

  async function tellGivenUp(job: Job): Promise<void> {
    const failed = failedJobOf(job);
    try {
      if (failed) await onGivenUp?.(failed);
    } catch (error) {
      log.warn({ err: error, job: job.id }, 'a failed job could not be recorded; the hourly sweep will record it');
    }
  }

  /** Once Redis is lost, waits for the running jobs, then a moment for Redis to come back and store their outcome. */
  async function finishWithout(redis: Redis): Promise<void> {
    await new Promise<void>((resolve) => redis.once('close', resolve));
    await Promise.race([Promise.allSettled(running), delay(finishWithoutRedisMs, undefined, { ref: false })]);
    await delay(farewellMs, undefined, { ref: false });
  }

  const queues = [...new Set(Object.values(jobContracts).map(({ queue }) => queue))];
  const workers = queues.map((queue) => {
    const worker = new Worker(queue, process, {
      connection: redis,
      prefix: keyPrefix,
      concurrency: placesOf(queue, concurrency),
      lockDuration: lockMs,
      stalledInterval: stalledCheckMs,
      maxStalledCount,
      settings: {
        backoffStrategy: (attemptsMade, kind, error) =>
          error instanceof UnknownJobError ? unknownJobRetryMs : retryDelayMs(attemptsMade, kind),
      },
    });
    worker.on('failed', (job, error) => {
      const isGivenUp = error instanceof UnrecoverableError;
      log[isGivenUp ? 'error' : 'warn'](
        { err: error, outcome: 'failed', queue, job: job?.id, attempts: job?.attemptsMade },
        isGivenUp ? 'a job was given up' : 'a job failed',
      );
      onFailed?.(job !== undefined && Object.hasOwn(jobContracts, job.name) ? job.name : 'unknown');
      if (job && isGivenUp) void tellGivenUp(job);
    });
    worker.on('stalled', (job) => log.warn({ queue, job }, 'a job lost its worker and is queued again'));
    worker.on('error', (error) => log.debug({ err: error, queue }, 'a queue worker reported an error'));
    return worker;
  });
  return {
    close: async () => {
      // Without Redis, jobs cannot be handed back. Their locks expire, and another worker restarts them.
      const isForced = redis.status !== 'ready';
      await Promise.race([Promise.all(workers.map((worker) => worker.close(isForced))), finishWithout(redis)]);
    },
  };
}

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
    opts: name in retries ? jobOptionsOf(name) : { removeOnComplete: true, removeOnFail: true },
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
