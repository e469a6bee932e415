import { setTimeout as delay } from 'node:timers/promises';
import { DelayedError, type Job, UnrecoverableError, Worker } from 'bullmq';
import { type Redis, ReplyError } from 'ioredis';
import { ServiceError, TransientError } from '../domain/service-error.ts';
import { prefixOf, warnOfError } from '../redis/connection.ts';
import type { Logger } from '../runtime/log.ts';
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
} from './jobs.ts';
import { jobKeyOf, longestPauseMs, retryDelayMs, unknownJobRetryMs } from './open-queue.ts';

/** Milliseconds. The jobs of a killed worker start again after at most `lockMs` + `stalledCheckMs` (docs/reference/adr/0003-how-bullmq-is-set.md). */
const lockMs = 5_000;
const stalledCheckMs = 2_000;

/** A job that loses its worker ten times is given up, because the job itself may crash the workers. */
const maxStalledCount = 9;

/** A job is given up at its fifth own failure (see `isTransient`). BullMQ counts every attempt, so the job has a separate counter for own failures. */
const mostOwnFailures = 5;
export const ownFailuresField = 'qstamp-own-failures';

/** A worker says at most once in this time that jobs of a kind wait for newer workers, in milliseconds. */
const newerFormWarningMs = 60_000;

/** The job belongs to another version of the service. A worker of the right version will run it. */
class UnknownJobError extends TransientError {
  override readonly name = 'UnknownJobError';
}

/** Another worker has taken the job over. */
class JobLostError extends TransientError {
  override readonly name = 'JobLostError';
}

/** ioredis 6, BullMQ and V8 have no error class for a lost connection, a lost lock or missing memory, so only the message identifies these errors. */
const transientMessage =
  /^(Connection is closed|Command timed out|Stream isn't writeable|Missing lock|Array buffer allocation failed|Too many Cluster redirections|Cluster isn't ready)/;
const transientName = /^(AbortError|TimeoutError|MaxRetriesPerRequestError|ClusterAllFailedError)$/;
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
    const processorOfJob = processors[name] as (payload: unknown, run: JobRun) => Promise<void>;
    await processorOfJob(payload.data, {
      jobId: job.id ?? '',
      isRetry: job.attemptsStarted > 1,
      isOurs: async () => (await job.extendLock(lock, lockMs)) === 1,
      keepOnly: (rest) => replacePayload(job, lock, rest),
    });
  }

  /** Stores another payload for a running job. @throws JobLostError, or an error of Redis if it is down */
  async function replacePayload(job: Job, lock: string, payload: object): Promise<void> {
    const key = jobKeyOf(redis, job.queueName, job.id);
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
    const key = jobKeyOf(redis, job.queueName, job.id);
    const failures = Number(await redis.eval(countFailureWhileLocked, 2, `${key}:lock`, key, lock ?? '', ownFailuresField));
    if (failures < mostOwnFailures) throw error;
    throw new UnrecoverableError(error instanceof Error ? error.message : String(error));
  }

  function runTracked(job: Job, lock?: string): Promise<void> {
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
  async function finishWithoutRedis(): Promise<void> {
    await new Promise<void>((resolve) => redis.once('close', resolve));
    await Promise.race([Promise.allSettled(running), delay(finishWithoutRedisMs, undefined, { ref: false })]);
    await delay(farewellMs, undefined, { ref: false });
  }

  const queues = [...new Set(Object.values(jobContracts).map(({ queue }) => queue))];
  const workers = queues.map((queue) => {
    const worker = new Worker(queue, runTracked, {
      connection: redis,
      prefix: prefixOf(redis),
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
    worker.on('error', (error) => warnOfError(redis, log, `the worker of the queue ${queue}`, error));
    return worker;
  });
  return {
    close: async () => {
      // Without Redis, jobs cannot be handed back. Their locks expire, and another worker restarts them.
      const isForced = redis.status !== 'ready';
      await Promise.race([Promise.all(workers.map((worker) => worker.close(isForced))), finishWithoutRedis()]);
    },
  };
}
